# The policies that `make demo` compiles, verifies and runs.

variable "batch" {
  type        = string
  description = "The one file outside the workspace that may be read"
}

variable "shell" {
  type        = string
  default     = "/usr/bin/dash"
  description = "The shell's real path, links resolved"
}

variable "programs" {
  type        = list(string)
  default     = ["/usr/bin/cat", "/usr/bin/cp", "/usr/bin/sha256sum", "/usr/bin/wc"]
  description = "Real paths of the programs that may be started"
}

variable "port" {
  type        = number
  default     = 8080
  description = "Port of the demo's own server on this machine's loopback"
}

# A governed command: callers choose it by name and fill in what is typed.
policy "batch" {
  version     = 1
  description = "Digest one payment batch, and nothing else"
  extends     = ["std/base"]
  workspace   = "fresh"

  filesystem {
    read    = [var.batch]
    write   = [workspace]
    execute = concat([var.shell], var.programs)
  }

  environment {
    PATH = "/usr/bin"
  }

  limits {
    timeout    = "10s"
    open_files = 64
    file_size  = "1MiB"
    stdout     = "64KiB"
    stderr     = "64KiB"
  }

  # The script is a constant. What the caller fills in reaches it as an argument
  # of its own ("$2"), never as text of the script.
  command "digest-batch" {
    executable = var.shell
    arguments = [
      "-euc",
      join("\n", [
        "cp \"$1\" \"$2.copy\"",
        "set -- \"$(sha256sum < \"$2.copy\")\" \"$(wc -c < \"$2.copy\")\"",
        "printf '{\"bytes\":%d,\"sha256\":\"%s\"}\\n' \"$2\" \"$${1%% *}\"",
      ]),
      "digest-batch",
      var.batch,
      identifier("batch_id"),
    ]
    result "digest" {
      integer "bytes" {
        minimum = 0
        maximum = 1048576
      }
      identifier "sha256" {
        max_bytes = 64
      }
    }
  }
}

# The same reach for a command of your choice: obspc exec runs it here and now.
policy "probe" {
  version     = 1
  description = "What the demo tries to break"
  extends     = ["std/base"]
  targets     = ["bwrap"]

  filesystem {
    read    = [var.batch]
    write   = [workspace]
    execute = concat([var.shell], var.programs)
  }

  # The way out: this one server, through the proxy. Addresses of the loopback are
  # special, so the endpoint says that its name may lead there.
  network {
    endpoint "server" {
      host      = "localhost"
      ports     = [var.port]
      addresses = ["127.0.0.0/8", "::1/128"]
    }
  }

  environment {
    PATH = "/usr/bin"
  }

  limits {
    timeout = "10s"
  }
}
