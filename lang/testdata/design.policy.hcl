variable "bank_host" {
  type        = string
  default     = "example.com"
  description = "Host that accepts payment batches"
}

policy "payment-batch" {
  version     = 3
  description = "Post one payment batch, and nothing else"
  extends     = ["std/base", "std/tls"] # embedded templates by name; template.NAME for one of this directory
  targets     = ["seatbelt", "bwrap"]   # default: both ("bwrap" is the whole Linux set)

  filesystem {
    write   = [workspace] # includes read; workspace, home, tmp are slots, see below
    read    = ["/usr/share/zoneinfo", optional("/opt/bank/ca")]
    deny    = ["${workspace}/.git/hooks", "${home}/.ssh"]
    execute = ["/usr/bin/curl"] # needs read as well: here from std/base
  }

  network {
    endpoint "bank" {
      host  = var.bank_host # exact, "*.example.com" (one label), "**.example.com" (one or more)
      ports = [443]
      # executables = ["/usr/bin/curl"]: who may use it; Linux only, so an error while targets name "seatbelt" (5.5)
      # protocol, allow and deny blocks: requests by method and path (5.3)
    }
  }

  environment { # with what the runtime adds (section 8) the whole environment; nothing is inherited
    LANG = "C.UTF-8"
  }

  limits { # memory and processes: Linux only, see the table in 5.5
    timeout    = "30s"
    open_files = 256
    file_size  = "64MiB"
    stdout     = "1MiB"
    stderr     = "1MiB"
  }

  command "post-batch" { # a governed command: callers choose it, and fill in only what is typed
    executable = "/usr/bin/curl"
    arguments = [
      "-q", "-sS", "-X", "POST", "-o", "/dev/null",
      "-w", "{\"http_status\":%%{http_code}}", # %%{ and $${ stand for %{ and ${
      "https://${var.bank_host}/batches/${identifier("batch_id")}",
    ]
    result "batch" {
      integer "http_status" {
        minimum = 100
        maximum = 599
      }
    }
  }
}
