# A read of / covers everything that no longer statement speaks of.
policy "whole-system-read" {
  version = 1
  targets = ["bwrap"]
  filesystem {
    read    = ["/"]
    deny    = ["/etc", "/root", "/home"]
    execute = ["/usr/bin", "/usr/lib"]
  }
}
