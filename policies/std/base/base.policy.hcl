# What an ordinary dynamically linked program needs before it does anything of
# its own. base.md beside this file gives the reason and the cost of every line.
template "base" {
  description = "What a dynamically linked program needs to start"

  filesystem {
    read = [
      # Why: getcwd and realpath; macOS 26 kills every dynamic program that cannot read it.
      # Cost: the names of the top-level directories, on Linux of those that the sandbox has.
      only("/"),

      # Why: programs, shared libraries and their files on Linux, on merged and unmerged
      # systems. Cost: the list of installed software can be read.
      optional("/usr/bin"), optional("/usr/sbin"), optional("/usr/lib"), optional("/usr/lib32"),
      optional("/usr/lib64"), optional("/usr/libx32"), optional("/usr/libexec"),
      optional("/bin"), optional("/sbin"), optional("/lib"), optional("/lib32"), optional("/lib64"), optional("/libx32"),

      # Why: how the loader and the C library find things: single files, never all of /etc.
      # Cost: the local accounts without password hashes, the time zone, the names in hosts.
      optional("/etc/ld.so.cache"), optional("/etc/ld.so.conf"), optional("/etc/ld.so.conf.d"),
      optional("/etc/ld-musl-x86_64.path"), optional("/etc/ld-musl-aarch64.path"),
      optional("/etc/alternatives"),
      optional("/etc/nsswitch.conf"), optional("/etc/passwd"), optional("/etc/group"),
      optional("/etc/localtime"), optional("/etc/hosts"), optional("/etc/host.conf"), optional("/etc/os-release"),
      optional("/etc/authselect/nsswitch.conf"), # where Fedora's /etc/nsswitch.conf leads
      optional("/etc/zoneinfo"),                 # where Alpine's /etc/localtime leads

      # Why: messages, terminals, time zones. Cost: nothing secret.
      optional("/etc/terminfo"),
      optional("/usr/share/locale"), optional("/usr/share/terminfo"), optional("/usr/share/zoneinfo"),

      # Why: the loader of macOS, its shared cache, the frameworks, Rosetta, which shell
      # /bin/sh is. Cost: nothing secret.
      optional("/System/Library"), optional("/System/Cryptexes/OS"), optional("/System/Cryptexes/App"),
      optional("/System/Volumes/Preboot/Cryptexes/OS"), optional("/System/Volumes/Preboot/Cryptexes/App/System"),
      optional("/Library/Apple/System"), optional("/Library/Apple/usr/lib"), optional("/Library/Apple/usr/libexec/oah"),
      optional("/usr/share/icu"),
      optional("/private/var/db/dyld"), optional("/private/var/db/timezone"), optional("/private/var/select/sh"),
    ]

    # Why: temporary files, private to the run and gone after it. Cost: on Linux 256 MiB of
    # memory at most.
    write = [tmp]

    # Why: the kernel opens the loader for every dynamic program, under its real name as
    # well. Cost: the loader can be started with any file that can be read, and runs that
    # file's code: execute limits which programs start, not which code runs.
    execute = concat(
      [
        optional("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), optional("/usr/lib64/ld-linux-x86-64.so.2"),
        optional("/usr/lib/ld-linux-x86-64.so.2"), optional("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
        optional("/lib64/ld-linux-x86-64.so.2"),
        optional("/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1"), optional("/usr/lib/ld-linux-aarch64.so.1"),
        optional("/usr/lib64/ld-linux-aarch64.so.1"), optional("/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1"),
        optional("/lib64/ld-linux-aarch64.so.1"), optional("/lib/ld-linux-aarch64.so.1"),

        # musl is its own loader; most systems link one name to the other.
        optional("/lib/ld-musl-x86_64.so.1"), optional("/usr/lib/ld-musl-x86_64.so.1"),
        optional("/lib/ld-musl-aarch64.so.1"), optional("/usr/lib/ld-musl-aarch64.so.1"),
        optional("/usr/lib/libc.so"), optional("/usr/lib/x86_64-linux-musl/libc.so"), optional("/lib/x86_64-linux-musl/libc.so"),
        optional("/usr/lib/aarch64-linux-musl/libc.so"), optional("/lib/aarch64-linux-musl/libc.so"),

        optional("/usr/lib/dyld"), # macOS
      ],
      # Before glibc 2.34 the file has the version in its name: Debian 9 (2.24),
      # Debian 10 and RHEL 8 (2.28), Debian 11 and Ubuntu 20.04 (2.31).
      flatten([for version in ["2.24", "2.28", "2.31"] : [
        optional("/lib64/ld-${version}.so"), optional("/usr/lib64/ld-${version}.so"),
        optional("/lib/x86_64-linux-gnu/ld-${version}.so"), optional("/usr/lib/x86_64-linux-gnu/ld-${version}.so"),
        optional("/lib/aarch64-linux-gnu/ld-${version}.so"), optional("/usr/lib/aarch64-linux-gnu/ld-${version}.so"),
      ]]),
    )
  }

  system {
    # Why: null, zero, full, random, urandom, tty and pseudo-terminals of its own. Cost:
    # none of the host's disks or other devices is there.
    devices = "minimal"
    # Why: POSIX shared memory and semaphores. Cost: 64 MiB of memory at most.
    shm = "64MiB"

    # Why: on macOS, users and groups, notifications, logging, the directory for temporary
    # files. Cost: the names of local accounts; what a program logs is seen by others.
    services = [
      "com.apple.system.opendirectoryd.libinfo", # getpwuid: ssh, git, whoami
      "com.apple.system.notification_center",
      "com.apple.system.logger",
      "com.apple.logd",
      "com.apple.bsd.dirhelper", # confstr(_CS_DARWIN_USER_TEMP_DIR)
    ]
    # Why: on macOS, what run-time systems ask about the machine. Cost: its model and its
    # name can be read.
    sysctls = [
      "hw.activecpu", "hw.byteorder", "hw.cachelinesize", "hw.cpufamily", "hw.cpufrequency", "hw.cputype",
      "hw.l1dcachesize", "hw.l1icachesize", "hw.l2cachesize", "hw.l3cachesize", "hw.logicalcpu",
      "hw.logicalcpu_max", "hw.machine", "hw.memsize", "hw.model", "hw.ncpu", "hw.pagesize", "hw.pagesize_compat",
      "hw.physicalcpu", "hw.physicalcpu_max", "kern.argmax", "kern.hostname", "kern.maxfilesperproc", "kern.maxproc",
      "kern.osproductversion", "kern.osrelease", "kern.ostype", "kern.osvariant_status", "kern.osversion",
      "kern.secure_kernel", "kern.sysv.semmni", "kern.usrstack64", "kern.version", "machdep.cpu.brand_string",
      "security.mac.lockdown_mode_state", "sysctl.proc_cputype", "vm.loadavg",
    ]
  }
}
