# The Go toolchain where go.dev's archive, Debian, Fedora, Alpine and Homebrew put it.
# go.md beside this file is the page.
template "go" {
  description = "The Go toolchain, without a C compiler; caches in the workspace"
  extends     = ["std/base", "std/homebrew"]

  filesystem {
    # Why: the standard library's sources and the toolchain's own files, below /usr/lib or
    # where they are installed by hand. Cost: nothing secret.
    read = concat(
      [optional("/usr/local/go"), optional("/usr/share/go")],
      # Debian and Ubuntu keep what does not depend on the processor here, by version.
      [for minor in [11, 15, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32] : optional("/usr/share/go-1.${minor}")],
    )

    # Why: go and gofmt, and the compiler, assembler, linker and vet that go starts. What
    # go builds lies in the workspace, and whether that may start is the policy's to say.
    # Cost: none of them reaches more than the policy grants.
    execute = concat(
      [
        optional("/usr/local/go/bin"), optional("/usr/local/go/pkg/tool"),
        optional("/usr/bin/go"), optional("/usr/bin/gofmt"),
        optional("/usr/lib/go/bin"), optional("/usr/lib/go/pkg/tool"),         # Alpine, Arch
        optional("/usr/lib/golang/bin"), optional("/usr/lib/golang/pkg/tool"), # Fedora
        optional("/opt/homebrew/Cellar/go"), optional("/usr/local/Cellar/go"),
      ],
      flatten([for minor in [11, 15, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32] : [
        optional("/usr/lib/go-1.${minor}/bin"), optional("/usr/lib/go-1.${minor}/pkg/tool"),
      ]]),
    )
  }

  environment {
    # Why: the caches last from run to run, and what a command puts into them is never
    # used outside. Cost: .cache in the workspace; a first build compiles the standard
    # library.
    GOCACHE = "${workspace}/.cache/go-build"
    GOPATH  = "${workspace}/.cache/go" # GOMODCACHE lies in it, at pkg/mod
    # Why: go run and go test start what they build, and nothing in tmp can be started.
    # Cost: a directory go-build… in the workspace while they run.
    GOTMPDIR = workspace
    # Why: go would start gcc or clang if it sees one, and std/cc alone lets them start.
    # Cost: no cgo. A policy that extends std/cc states CGO_ENABLED = "1".
    CGO_ENABLED = "0"
    # Why: go build asks git about a .git that it sees, and fails when git may not start.
    # Cost: programs carry no revision. A policy that extends std/git may state "".
    GOFLAGS = "-buildvcs=false"
    # Why: go counts its own calls in the directory of settings. Cost: other programs'
    # settings below .config are not found.
    XDG_CONFIG_HOME = "${workspace}/.cache/config"
    # Why: another toolchain could only come from the network. Cost: a module that wants
    # a newer one is refused by go.
    GOTOOLCHAIN = "local"
  }
}
