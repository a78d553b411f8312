# Limits have units; the environment is exactly what is stated and what the runtime adds.
policy "limits-and-environment" {
  version = 1
  filesystem {
    read = ["/usr"]
  }
  environment {
    LANG = "C.UTF-8"
    HOME = workspace
  }
  limits {
    timeout    = "1m30s"
    cpu_time   = "10s"
    open_files = 256
    file_size  = "64MiB"
    stdout     = "1MiB"
    stderr     = "512KiB"
  }
}
