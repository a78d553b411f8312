# Quotes, backslashes, spaces and letters outside ASCII are ordinary in a path.
policy "odd-names" {
  version = 1
  filesystem {
    read = ["/srv/ü ö", "/srv/a b\"c\\d", "/srv/;(x) 'y'"]
  }
}
