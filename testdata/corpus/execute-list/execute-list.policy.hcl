# What may be read may not for that reason be started; an execute list holds the names it names.
policy "execute-list" {
  version = 1
  filesystem {
    read    = ["/usr/bin", "/usr/lib"]
    write   = [workspace]
    execute = ["/usr/bin/env", "${workspace}/tools"]
  }
}
