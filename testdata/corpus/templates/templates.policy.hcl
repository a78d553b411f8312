# A policy takes over what its templates state, and its own statement for a path replaces theirs.
template "tools" {
  filesystem {
    read    = ["/usr/bin", "/usr/lib"]
    execute = ["/usr/bin"]
  }
}

template "scratch" {
  extends = [template.tools]
  filesystem {
    write = ["/srv/scratch"]
  }
  environment {
    LANG = "C.UTF-8"
  }
}

policy "templates" {
  version = 1
  extends = [template.scratch]
  filesystem {
    read = ["/srv/scratch"]
  }
}
