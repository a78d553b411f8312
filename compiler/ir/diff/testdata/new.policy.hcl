# What report.* compares with old.policy.hcl.
policy "build" {
  version = 3
  filesystem {
    read    = ["/opt/data", optional("/opt/tool"), "/opt/a|b `c`"]
    write   = [workspace, tmp, "${workspace}/.git/config"]
    deny    = ["/opt/data/other"]
    execute = ["/opt/tool/bin"]
  }
  network {
    endpoint "registry" {
      host  = "*.example.com"
      ports = [443, 8443]
    }
  }
  environment {
    LANG = "${home}|x"
  }
  limits {
    timeout = "20s"
  }
  command "post" {
    executable = "/opt/tool/bin/post"
    arguments  = [integer("count", 1, 10)]
  }
}

policy "left-alone" {
  version = 2
  filesystem {
    read = ["/opt/data", "/opt/data/more"]
  }
}

policy "added" {
  version = 1
  filesystem {
    read  = ["/opt/data"]
    write = [workspace]
    deny  = ["${workspace}/.git"]
  }
}
