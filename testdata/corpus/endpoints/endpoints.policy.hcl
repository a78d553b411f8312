# The way out: requests on an API, a server in a private range, a host that is denied.
policy "endpoints" {
  version = 1
  extends = ["std/base"]
  network {
    deny = ["*.internal.example.com"]
    endpoint "api" {
      host     = "api.example.com"
      ports    = [443]
      protocol = "rest"
      allow {
        methods = ["GET"]
        path    = "/repos/*/releases/**"
      }
      deny {
        path = "/repos/*/releases/assets/**"
      }
    }
    endpoint "packages" {
      host  = "**.example.com"
      ports = [80]
    }
    endpoint "build" {
      host      = "build.example.org"
      ports     = [22]
      protocol  = "tcp"
      addresses = ["10.2.0.0/16"]
    }
    endpoint "mirror" {
      address = "10.2.0.7"
      ports   = [80, 443]
    }
  }
}
