# Variables, locals, for-expressions and functions work as in Terraform; slots pass through them untouched.
variable "tools" {
  type        = list(string)
  default     = ["env", "id"]
  description = "Programs of /usr/bin that may be started"
}

locals {
  cache = "${workspace}/.cache"
  bin   = [for t in var.tools : "/usr/bin/${t}"]
}

policy "expressions" {
  version = 1
  filesystem {
    read    = concat(["/usr/lib"], local.bin)
    write   = [workspace]
    deny    = [for d in ["keys", "tokens"] : "${local.cache}/${d}"]
    execute = local.bin
  }
  environment {
    CACHE = local.cache
    PATH  = join(":", ["/usr/bin", "${workspace}/bin"])
  }
}
