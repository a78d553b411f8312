# only() speaks of one node and of nothing below it.
policy "only-one-node" {
  version = 1
  filesystem {
    read = [only("/"), only("/srv"), "/srv/data"]
  }
}
