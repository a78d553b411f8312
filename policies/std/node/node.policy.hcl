# Node and npm where Debian, NodeSource, nodejs.org and Homebrew put them. node.md
# beside this file is the page.
template "node" {
  description = "Node and npm; caches in the workspace"
  extends     = ["std/base", "std/homebrew"]

  filesystem {
    # Why: modules of npm and of Node itself outside /usr/lib; what was installed by hand
    # lies below /usr/local. Cost: the list of that software can be read.
    read = [optional("/usr/share/nodejs"), optional("/usr/local/bin"), optional("/usr/local/lib")]

    # Why: node; npm, npx and corepack, which are scripts that env starts with node. Cost:
    # node runs any script that can be read, and none of it reaches more than the policy
    # grants. What scripts of package.json start needs std/shell, and what packages
    # install into node_modules/.bin the policy's own execute.
    execute = concat([
      optional("/usr/bin/env"),
      optional("/usr/bin/node"), optional("/usr/bin/nodejs"), optional("/usr/local/bin/node"),
      optional("/usr/share/nodejs/npm/bin"), optional("/usr/share/nodejs/corepack/dist"),
      optional("/usr/lib/node_modules/npm/bin"), optional("/usr/lib/node_modules/corepack/dist"),
      optional("/usr/local/lib/node_modules/npm/bin"), optional("/usr/local/lib/node_modules/corepack/dist"),
      optional("/opt/homebrew/lib/node_modules/npm/bin"), optional("/opt/homebrew/Cellar/node"), optional("/usr/local/Cellar/node"),
      ], flatten([for version in [18, 20, 22, 24, 26, 28, 30] : [
        optional("/opt/homebrew/Cellar/node@${version}"), optional("/usr/local/Cellar/node@${version}"),
    ]]))
  }

  environment {
    # Why: the caches last from run to run, and what a command puts into them is never
    # used outside. Cost: .cache in the workspace.
    npm_config_cache  = "${workspace}/.cache/npm"
    YARN_CACHE_FOLDER = "${workspace}/.cache/yarn"
    COREPACK_HOME     = "${workspace}/.cache/corepack"
    # Why: npm would ask the network whether it is the newest. Cost: it does not say so.
    npm_config_update_notifier = "false"
  }
}
