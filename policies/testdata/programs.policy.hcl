# What ordinary programs need beside std/base. The live test runs each policy's
# command outside and inside; base.md lists what is stated here.

variable "programs" {
  type        = list(string)
  default     = ["/usr/bin/true"]
  description = "Real paths of the programs that the command starts"
}

variable "own" {
  type        = list(string)
  default     = []
  description = "Where the program's own files lie, if that depends on its version"
}

# Shells, core utilities, archivers, make, python3, ssh, curl, openssl: nothing but the programs.
policy "programs" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]

  filesystem {
    write   = [workspace]
    execute = var.programs
  }
}

policy "perl" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]

  filesystem {
    write   = [workspace]
    read    = [optional("/usr/share/perl"), optional("/usr/share/perl5")]
    execute = var.programs
  }
}

# Debian's package keeps parts of it there; one from nodejs.org needs nothing.
policy "node" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]

  filesystem {
    write   = [workspace]
    read    = [optional("/usr/share/nodejs")]
    execute = var.programs
  }
}

policy "git" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]

  filesystem {
    write   = [workspace]
    read    = ["/usr/share/git-core"]
    execute = concat(var.programs, ["/usr/lib/git-core"])
  }
}

# What it builds is started as well.
policy "gcc" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]

  filesystem {
    write   = [workspace]
    read    = ["/usr/include"]
    execute = concat(var.programs, ["/usr/lib/gcc", optional("/usr/libexec/gcc"), workspace])
  }
}

policy "go" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]

  filesystem {
    write   = [workspace]
    read    = var.own
    execute = concat(var.programs, var.own, [workspace])
  }
}

# Debian's Java keeps its settings in a directory of /etc.
policy "java" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]

  filesystem {
    write   = [workspace]
    read    = var.own
    execute = concat(var.programs, ["/usr/lib/jvm"])
  }
}
