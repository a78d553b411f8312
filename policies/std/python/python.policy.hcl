# CPython where Debian, Fedora, python.org, Apple's tools and Homebrew put it. python.md
# beside this file is the page.
template "python" {
  description = "Python 3 and pip; caches in the workspace"
  extends     = ["std/base", "std/homebrew"]

  filesystem {
    # Why: what lies outside /usr/lib: an interpreter installed by hand with its library,
    # the wheels that venv puts into a new environment. Cost: the list of that software
    # can be read.
    read = [
      optional("/usr/local/bin"), optional("/usr/local/lib"), optional("/usr/share/python-wheels"),
      optional("/Library/Frameworks/Python.framework"),
      optional("/Library/Developer/CommandLineTools/Library/Frameworks"), optional("/Library/Developer/CommandLineTools/usr/bin"),
      optional("/Library/Developer/CommandLineTools/usr/lib"), optional("/private/var/db/xcode_select_link"),
    ]

    # Why: the interpreter, by its name and by that with its version, and pip, a script
    # that it runs. Cost: it runs any code that can be read, and none of it reaches more
    # than the policy grants.
    execute = concat(
      [optional("/usr/bin/env")],
      flatten([for dir in ["/usr/bin", "/usr/local/bin"] : [
        for name in ["python3", "python", "pip3", "pip"] : optional("${dir}/${name}")
      ]]),
      flatten([for minor in [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20] : [
        optional("/usr/bin/python3.${minor}"), optional("/usr/local/bin/python3.${minor}"),
        optional("/opt/homebrew/Cellar/python@3.${minor}"), optional("/usr/local/Cellar/python@3.${minor}"),
      ]]),
      [
        optional("/Library/Frameworks/Python.framework"), optional("/Library/Developer/CommandLineTools/usr/bin/python3"),
        optional("/Library/Developer/CommandLineTools/Library/Frameworks/Python3.framework"),
      ],
    )
  }

  environment {
    # Why: the caches last from run to run, and what a command puts into them is never
    # used outside. Cost: .cache in the workspace.
    PIP_CACHE_DIR = "${workspace}/.cache/pip"
    UV_CACHE_DIR  = "${workspace}/.cache/uv"
    # Why: pip would ask the network whether it is the newest. Cost: it does not say so.
    PIP_DISABLE_PIP_VERSION_CHECK = "1"
  }
}
