# git in a linked worktree (git-worktree(1)): .git in the workspace is a file that names
# the repository, which lies elsewhere. git-worktree.md beside this file says what the
# policy adds.
template "git-worktree" {
  description = "git in a linked worktree; which repository it belongs to stays as it is"
  extends     = ["std/git"]

  filesystem {
    # Why: whoever runs git here next believes what .git names, with the hooks and the
    # configuration there. Nothing lies below that file, so what std/git protects there is
    # optional here. Cost: none.
    read = [
      "${workspace}/.git",
      optional("${workspace}/.git/config"), optional("${workspace}/.git/config.worktree"), optional("${workspace}/.git/hooks"),
    ]
  }
}
