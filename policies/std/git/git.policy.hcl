# git in a repository whose .git lies in the workspace, or in a linked worktree, for
# which git.md beside this file says what a policy adds.
template "git" {
  description = "git; hooks and configuration of the workspace's repository stay as they are"
  extends     = ["std/base", "std/homebrew"]

  filesystem {
    read = [
      # Why: what a new repository is filled with. Cost: nothing secret.
      optional("/usr/share/git-core"), optional("/usr/local/share/git-core"), optional("/Library/Developer/CommandLineTools/usr/share/git-core"),
      # Why: git itself, when installed by hand or by Apple's tools. Cost: the list of
      # that software can be read.
      optional("/usr/local/bin"), optional("/usr/local/libexec/git-core"),
      optional("/Library/Developer/CommandLineTools/usr/bin"), optional("/Library/Developer/CommandLineTools/usr/lib"),
      optional("/Library/Developer/CommandLineTools/usr/libexec/git-core"), optional("/private/var/db/xcode_select_link"),

      # Why: whoever runs git here next, outside of any sandbox, starts what these name:
      # hooks, core.hooksPath, core.fsmonitor, filters, aliases. So the command may read
      # and not change them. Cost: no `git init` in the workspace itself, no `git config`
      # of its repository; a token that stands in a URL of .git/config can be read.
      "${workspace}/.git/config", "${workspace}/.git/config.worktree", "${workspace}/.git/hooks",
    ]

    execute = [
      # Why: git starts its own parts and, for what old parts still need, itself again.
      # Cost: none of them reaches more than the policy grants.
      optional("/usr/bin/git"), optional("/usr/bin/gettext"), optional("/usr/bin/envsubst"), optional("/usr/lib/git-core"), optional("/usr/libexec/git-core"),
      optional("/usr/local/bin/git"), optional("/usr/local/libexec/git-core"),
      optional("/opt/homebrew/Cellar/git"), optional("/usr/local/Cellar/git"),
      optional("/Library/Developer/CommandLineTools/usr/bin/git"), optional("/Library/Developer/CommandLineTools/usr/libexec/git-core"),

      # Why: the repository's own hooks run inside as they do outside; not to start them
      # would be to skip them. Cost: none, they can be read anyway.
      optional("${workspace}/.git/hooks"),
    ]
  }

  environment {
    # Why: the machine's settings may start programs and hold tokens; macOS ends git when
    # it may not read a file it found. Cost: settings of /etc/gitconfig do not count
    # inside, nor do those of the caller's home, which is not HOME here.
    GIT_CONFIG_NOSYSTEM = "1"
    GIT_ATTR_NOSYSTEM   = "1"
  }
}
