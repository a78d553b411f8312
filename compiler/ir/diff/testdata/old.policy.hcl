# What report.* compares new.policy.hcl with.
policy "build" {
  version = 3
  filesystem {
    read    = ["/opt/data", "/opt/tool", "/usr/share/zoneinfo"]
    write   = [workspace, tmp]
    deny    = ["${workspace}/.git/hooks", "/opt/data/secret", "${home}/.ssh"]
    execute = ["/opt/tool/bin"]
  }
  network {
    endpoint "registry" {
      host  = "registry.example.com"
      ports = [443]
    }
  }
  environment {
    LANG = "C.UTF-8"
  }
  limits {
    timeout = "30s"
  }
  command "post" {
    executable = "/opt/tool/bin/post"
    arguments  = [integer("count", 1, 9)]
  }
}

policy "left-alone" {
  version = 1
  filesystem {
    read = ["/opt/data"]
  }
}

policy "retired" {
  version = 7
  filesystem {
    read = ["/opt/data"]
  }
}
