# A read covers its path and everything below it, by whole components.
policy "read-one-tree" {
  version = 1
  filesystem {
    read = ["/usr"]
  }
}
