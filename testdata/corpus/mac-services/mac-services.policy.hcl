# What macOS offers beside files is stated by exact name.
policy "mac-services" {
  version = 1
  targets = ["seatbelt"]
  filesystem {
    read = [only("/"), "/usr/lib", "/System/Library"]
  }
  system {
    services = ["com.apple.trustd.agent", "com.apple.logd"]
    sysctls  = ["hw.ncpu", "kern.osrelease"]
    ipc      = ["apple.shm.notification_center"]
    iokit    = ["IOSurfaceRootUserClient"]
  }
}
