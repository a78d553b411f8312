# rustc and cargo where Debian, Fedora, Alpine and Homebrew put them, with the compiler
# that links. rust.md beside this file is the page.
template "rust" {
  description = "rustc and cargo, with std/cc to link; caches in the workspace"
  extends     = ["std/base", "std/cc", "std/homebrew"]

  filesystem {
    # Why: what was installed by hand; the rest lies below /usr/lib. Cost: the list of that
    # software can be read.
    read = [optional("/usr/local/bin"), optional("/usr/local/lib")]

    # Why: the compiler, cargo and what cargo starts by name. Build scripts and tests lie in
    # the workspace, and whether they may start is the policy's to say. Cost: none of them
    # reaches more than the policy grants.
    execute = concat(
      flatten([for dir in ["/usr/bin", "/usr/local/bin"] : [
        for name in ["cargo", "cargo-clippy", "cargo-fmt", "clippy-driver", "rustc", "rustdoc", "rustfmt"] : optional("${dir}/${name}")
      ]]),
      # Ubuntu's packages that carry the version in their name.
      [for minor in [
        74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100,
      ] : optional("/usr/lib/rust-1.${minor}/bin")],
      [optional("/opt/homebrew/Cellar/rust"), optional("/usr/local/Cellar/rust")],
    )
  }

  environment {
    # Why: cargo's cache lasts from run to run, and what a command puts into it is never
    # used outside; credentials.toml of the caller's own is not there. Cost: .cache in the
    # workspace. What is built goes to target beside Cargo.toml, as everywhere.
    CARGO_HOME = "${workspace}/.cache/cargo"
  }
}
