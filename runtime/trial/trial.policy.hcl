# What obsrun doctor sets up and takes down again: a sandbox of every kind of mount
# that a run can need, and with a way out that nobody takes. trial.json beside this file is what it compiles to.
policy "trial" {
  version   = 1
  extends   = ["std/base"]
  targets   = ["bwrap"]
  workspace = "fresh"
  filesystem {
    write = [workspace]
    read  = ["${workspace}/.kept"]
    deny  = ["${workspace}/.hidden"]
  }
  network {
    endpoint "nowhere" {
      host        = "nowhere.invalid"
      ports       = [443]
      executables = ["/nowhere"]
    }
  }
}
