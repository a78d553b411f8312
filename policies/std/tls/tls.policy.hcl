# Whom programs believe: the certificates of authorities, where systems keep them.
# tls.md beside this file is the page.
template "tls" {
  description = "Certificates of authorities, and the settings of TLS libraries"
  extends     = ["std/base"]

  filesystem {
    read = [
      # Why: the bundles and directories of OpenSSL, GnuTLS, Go and Python: Debian, Fedora,
      # SUSE, Alpine, Arch, macOS. Never /etc/ssl itself nor /etc/pki/tls, where private
      # keys lie beside them. Cost: which authorities the machine trusts.
      optional("/etc/ssl/certs"), optional("/etc/ssl/cert.pem"), optional("/etc/ssl/ca-bundle.pem"),
      optional("/usr/share/ca-certificates"), optional("/usr/local/share/ca-certificates"), optional("/etc/ca-certificates"),
      optional("/etc/pki/tls/certs"), optional("/etc/pki/tls/cert.pem"), optional("/etc/pki/ca-trust/extracted"),
      optional("/var/lib/ca-certificates"), optional("/usr/share/pki"), optional("/usr/local/etc/ca-certificates"),
      optional("/opt/homebrew/etc/ca-certificates"), optional("/opt/homebrew/etc/openssl@3"), optional("/usr/local/etc/openssl@3"),

      # Why: libraries read what they allow of TLS before anything else. Cost: nothing secret.
      optional("/etc/ssl/openssl.cnf"), optional("/etc/pki/tls/openssl.cnf"), optional("/etc/gnutls"),
      optional("/etc/crypto-policies"), optional("/usr/share/crypto-policies"),
    ]
  }

  system {
    # Why: on macOS programs of Apple's frameworks, and Go, ask this service whether a
    # certificate holds. Cost: it looks for answers on the network by itself.
    services = ["com.apple.trustd", "com.apple.trustd.agent"]
  }
}
