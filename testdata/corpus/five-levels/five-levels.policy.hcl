# Levels may nest to any depth; the longest statement decides.
policy "five-levels" {
  version = 1
  filesystem {
    read  = ["/srv/b", "/srv/b/c/d"]
    write = ["/srv/b/c", "/srv/b/c/d/e/f"]
    deny  = ["/srv/b/c/d/e"]
  }
}
