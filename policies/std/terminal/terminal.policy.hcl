# What programs read to draw on a terminal. The terminal itself is no matter of a
# policy: a run has one only if its caller gives it one. terminal.md beside this file
# is the page.
template "terminal" {
  description = "Terminal descriptions, line editing, locale, pagers"
  extends     = ["std/base"]

  filesystem {
    # Why: descriptions of terminals beside those of std/base (older systems' termcap),
    # readline's settings, names of locales. Cost: nothing secret.
    read = [
      optional("/etc/inputrc"), optional("/etc/termcap"), optional("/usr/share/misc/termcap"), optional("/usr/share/tabset"),
      optional("/etc/locale.alias"), optional("/usr/share/locale-langpack"), optional("/usr/share/i18n"),
    ]

    # Why: programs page long output, scripts ask what a terminal can do. Cost: a pager
    # shows what can be read, and starts only what the policy lets start.
    execute = flatten([for dir in ["/bin", "/usr/bin"] : [
      for name in ["less", "more", "tput", "clear", "reset", "tset", "infocmp", "locale"] : optional("${dir}/${name}")
    ]])
  }

  environment {
    # Why: without it programs take text for ASCII. Cost: none; a system that lacks this
    # locale falls back to that.
    LANG = "C.UTF-8"
    # Why: a history file in the workspace would keep what was typed. Cost: none is kept.
    LESSHISTFILE = "-"
  }
}
