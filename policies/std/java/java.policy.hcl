# OpenJDK where Debian, Fedora, Adoptium and macOS put it. java.md beside this file is
# the page.
template "java" {
  description = "A JDK: java, javac and their like"
  extends     = ["std/base", "std/homebrew"]

  filesystem {
    # Why: Debian and Fedora keep the settings of a JDK in /etc, and jar files of
    # libraries in /usr/share/java. Cost: nothing secret; trusted certificates are not
    # among them.
    read = concat(
      [optional("/etc/java"), optional("/usr/share/java"), optional("/Library/Java/JavaVirtualMachines")],
      [for version in [8, 11, 17, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30] : optional("/etc/java-${version}-openjdk")],
    )

    # Why: the JDKs, with the helper that starts other processes. /usr/bin has links to the
    # one that is chosen. Cost: it runs any class that can be read, and none of it reaches
    # more than the policy grants.
    execute = concat([
      optional("/usr/bin/java"), optional("/usr/bin/javac"), optional("/usr/bin/jar"), optional("/usr/lib/jvm"),
      optional("/Library/Java/JavaVirtualMachines"), optional("/opt/homebrew/Cellar/openjdk"), optional("/usr/local/Cellar/openjdk"),
      ], flatten([for version in [8, 11, 17, 21, 25, 29] : [
        optional("/opt/homebrew/Cellar/openjdk@${version}"), optional("/usr/local/Cellar/openjdk@${version}"),
    ]]))
  }

  environment {
    # Why: Java takes the home directory from the user database and not from HOME, and that
    # one is not there. The caches last from run to run, and what a command puts into them
    # is never used outside. Cost: .cache in the workspace.
    GRADLE_USER_HOME = "${workspace}/.cache/gradle"
    MAVEN_ARGS       = "-Dmaven.repo.local=${workspace}/.cache/maven"
  }
}
