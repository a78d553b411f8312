# What one target cannot enforce is accepted where reviewers see it, or not at all.
policy "waived" {
  version = 1
  filesystem {
    read = ["/srv/data"]
    deny = ["/srv/data/ü"]
  }
  waive "seatbelt" {
    features = ["filesystem.protected-non-ascii"]
    reason   = "the volume is case-sensitive and keeps one normal form"
  }
}
