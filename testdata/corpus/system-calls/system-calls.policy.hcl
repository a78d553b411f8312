# Two programs of system calls: the list that every sandbox has, less what is allowed,
# and what the policy denies beside it.
policy "system-calls" {
  version = 1
  targets = ["bwrap", "seatbelt"]
  filesystem {
    read  = ["/usr"]
    write = [workspace]
  }
  syscalls {
    deny  = ["faccessat2", "kill", "mkdir", "mkdirat", "socket"]
    allow = ["ptrace"]
  }
  waive "seatbelt" {
    features = ["syscalls.deny"]
    reason   = "macOS names operations; what the calls would do is denied there by path"
  }
}
