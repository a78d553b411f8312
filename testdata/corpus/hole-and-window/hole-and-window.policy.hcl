# A deny inside a read is a hole, a read inside that is a window, and the order of statements never matters.
policy "hole-and-window" {
  version = 1
  filesystem {
    deny  = ["/srv/data/private", "${workspace}/secret"]
    read  = ["/srv/data/private/shared", "/srv/data", "${workspace}/secret/public"]
    write = [workspace]
  }
}
