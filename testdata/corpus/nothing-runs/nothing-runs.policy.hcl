# An empty execute list is a sandbox in which nothing starts.
policy "nothing-runs" {
  version = 1
  filesystem {
    read    = ["/usr"]
    execute = []
  }
}
