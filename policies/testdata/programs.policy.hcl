# What ordinary programs need beside std/base when no other template is extended.
# The live test runs each policy's command outside and inside.

variable "programs" {
  type        = list(string)
  default     = ["/usr/bin/true"]
  description = "Real paths of the programs that the command starts"
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
