# What shell scripts start: shells, core utilities, and the text and archive tools
# that scripts take for granted. shell.md beside this file is the page.
template "shell" {
  description = "Shells and the core utilities that scripts start"
  extends     = ["std/base"]

  filesystem {
    # Why: a script is a shell and these programs, by their names in the two places of
    # merged and unmerged systems, so that nothing else there starts. Cost: a shell runs
    # any text that can be read, and find -exec, xargs, env and awk start what this list and
    # the policy's let start. None of them reads or writes more than the policy grants.
    execute = concat(
      # GNU coreutils 9, and what other systems have under the same names; without
      # chroot, runcon and chcon, which need privileges, and without "[", which is no
      # name that a path may have; every shell has it built in. Since 25.10 Ubuntu's are
      # links to those written in Rust, and some to GNU's under another name.
      [optional("/usr/lib/cargo/bin/coreutils")],
      flatten([for prefix in ["/bin/", "/usr/bin/", "/usr/bin/gnu"] : [for name in [
        "arch", "b2sum", "base32", "base64", "basename", "basenc", "cat", "chgrp", "chmod", "chown", "cksum", "comm",
        "coreutils", "cp", "csplit", "cut", "date", "dd", "df", "dir", "dircolors", "dirname", "du", "echo", "env",
        "expand", "expr", "factor", "false", "fmt", "fold", "groups", "head", "hostid", "id", "install", "join", "link",
        "ln", "logname", "ls", "md5sum", "mkdir", "mkfifo", "mknod", "mktemp", "mv", "nice", "nl", "nohup", "nproc",
        "numfmt", "od", "paste", "pathchk", "pr", "printenv", "printf", "ptx", "pwd", "readlink", "realpath", "rm",
        "rmdir", "seq", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shred", "shuf", "sleep", "sort",
        "split", "stat", "stdbuf", "stty", "sum", "sync", "tac", "tail", "tee", "test", "timeout", "touch", "tr",
        "true", "truncate", "tsort", "tty", "uname", "unexpand", "uniq", "unlink", "vdir", "wc", "whoami", "yes",
      ] : optional("${prefix}${name}")]]),

      # Shells, of which a busybox is every one of its programs at once, and macOS's
      # /bin/sh starts one of the others. Text, files, processes and archives; on Debian
      # awk and which are links of its alternatives to one of the names here.
      flatten([for dir in ["/bin", "/usr/bin"] : [for name in [
        "sh", "ash", "bash", "busybox", "dash", "zsh",
        "awk", "gawk", "mawk", "original-awk", "sed", "grep", "egrep", "fgrep", "find", "xargs", "which", "which.debianutils",
        "cmp", "diff", "diff3", "sdiff", "patch", "getopt", "hostname", "kill", "ps", "make",
        "tar", "bsdtar", "gzip", "gunzip", "zcat", "bzip2", "bunzip2", "bzcat", "xz", "unxz", "xzcat", "zstd", "unzstd",
        "zstdcat", "unzip", "zip", "zgrep", "zegrep", "zfgrep", "zdiff", "zcmp", "xzgrep", "xzdiff", "xzcmp",
        "flock", "setsid", "taskset", "ionice", "renice", "rev", "column", "hexdump", "run-parts", "getconf", "iconv", "locale",
      ] : optional("${dir}/${name}")]]),
    )
  }
}
