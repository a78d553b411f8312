# optional() is as if unsaid when the path is missing at the start of a run.
policy "optional-paths" {
  version = 1
  filesystem {
    read    = ["/usr/lib", optional("/opt/bank/ca"), optional("/lib64")]
    execute = [optional("/opt/bank/ca")]
  }
}
