# A read inside a write is a read-only carve-out: it keeps its contents and its place.
policy "carve-out" {
  version = 1
  filesystem {
    write = [workspace]
    read  = ["${workspace}/.git/hooks", "${workspace}/.env"]
  }
}
