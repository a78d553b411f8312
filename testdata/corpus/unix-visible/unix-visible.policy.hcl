# Unix-domain sockets: none, or every one whose path can be read.
policy "unix-visible" {
  version = 1
  filesystem {
    read = ["/srv/sockets"]
  }
  network {
    unix = "visible"
  }
}
