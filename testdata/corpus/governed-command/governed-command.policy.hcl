# Callers choose a command by name and fill in only what is typed; what it prints is typed too.
policy "governed-command" {
  version   = 2
  workspace = "fresh"
  filesystem {
    read    = ["/usr/bin", "/usr/lib"]
    write   = [workspace]
    execute = ["/usr/bin/printf"]
  }
  command "report" {
    executable = "/usr/bin/printf"
    arguments  = ["{\"batch\":\"%s\",\"count\":%d}", identifier("batch_id", 32), integer("count", 0, 1000)]
    result "report" {
      identifier "batch" {
        max_bytes = 32
      }
      integer "count" {
        minimum = 0
        maximum = 1000
      }
    }
  }
  command "say" {
    executable = "/usr/bin/printf"
    arguments  = ["%s\n", "in ${workspace}", "--", rest("words")]
  }
}
