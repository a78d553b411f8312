# The machine's own loopback, beside an endpoint: macOS alone.
policy "loopback-host" {
  version = 1
  targets = ["seatbelt"]
  filesystem {
    read = ["/private/var/run"]
  }
  network {
    unix     = "visible"
    loopback = "host"
    endpoint "api" {
      host  = "api.example.com"
      ports = [443]
    }
  }
}
