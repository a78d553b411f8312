# What the processes of a run use together, kept by the kernel or not run; the tmp slot has the size that is stated.
policy "limits-of-the-tree" {
  version = 1
  extends = [template.small]
  filesystem {
    read  = ["/usr"]
    write = [workspace, tmp]
  }
  limits {
    memory         = "512MiB"
    tmp_size       = "64MiB"
    workspace_size = "1GiB"
    scope          = "tree"
  }
  waive "seatbelt" {
    features = ["limits.memory", "limits.processes"]
    reason   = "on macOS nobody runs it unattended"
  }
}
template "small" {
  limits {
    processes = 64
  }
}
