# Where Homebrew keeps programs on macOS: Apple's processors below /opt/homebrew,
# Intel's below /usr/local. Templates whose programs people install with it extend
# this one. homebrew.md beside this file is the page.
template "homebrew" {
  description = "Files of programs that Homebrew installed on macOS"
  extends     = ["std/base"]

  filesystem {
    # Why: a program lies in Cellar; bin, lib and opt are links into it, Frameworks and
    # share hold what belongs to it. Cost: the list of installed software can be read.
    # Left out: etc (settings, certificates) and var (databases, logs). Of bin, lib and
    # share below /usr/local, which are not Homebrew's alone, each template says what it
    # needs.
    read = concat(
      [for name in ["bin", "lib", "opt", "share", "Cellar", "Frameworks"] : optional("/opt/homebrew/${name}")],
      [for name in ["opt", "Cellar", "Frameworks"] : optional("/usr/local/${name}")],
    )
  }
}
