# What the embedded template std/base brings.
policy "standard-base" {
  version = 1
  extends = ["std/base"]
  filesystem {
    write   = [workspace]
    execute = ["/usr/bin/true"]
  }
}
