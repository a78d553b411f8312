# A write includes read, holds its own root, and reaches nothing outside.
policy "write-workspace" {
  version = 1
  filesystem {
    write = [workspace]
  }
}
