# Home is the caller's, from the user database; a hole in it stays a hole.
policy "home-without-keys" {
  version = 1
  filesystem {
    read  = [home]
    write = ["${home}/.cache/tool"]
    deny  = ["${home}/.ssh", "${home}/.cache/tool/keys"]
  }
}
