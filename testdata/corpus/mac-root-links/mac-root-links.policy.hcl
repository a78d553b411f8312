# macOS keeps /tmp, /var, /etc and /home as links; rules and holes hold under both names.
policy "mac-root-links" {
  version = 1
  targets = ["seatbelt"]
  filesystem {
    read = ["/home/shared", "/etc/ssl", "/var/db/timezone"]
    deny = ["/home/shared/secret"]
  }
}
