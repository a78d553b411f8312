# A C and C++ compiler with what it starts, as Debian, Fedora, Alpine and Apple name it.
# cc.md beside this file is the page.
template "cc" {
  description = "A C and C++ compiler, assembler, linker and make"
  extends     = ["std/base"]

  filesystem {
    # Why: headers, and the descriptions that pkg-config reads; libraries lie below
    # /usr/lib. Cost: the list of installed development packages can be read.
    read = [
      optional("/usr/include"), optional("/usr/share/pkgconfig"),
      optional("/usr/local/include"), optional("/usr/local/lib"),
      optional("/Library/Developer/CommandLineTools"), optional("/private/var/db/xcode_select_link"),
    ]

    # Why: a compiler starts its own parts, an assembler and a linker; Debian's programs
    # are links to names with processor and version, which are the ones that start. What
    # is built lies in the workspace, and whether that may start is the policy's to say.
    # Cost: none of them reaches more than the policy grants.
    execute = concat(
      flatten([for prefix in ["", "x86_64-linux-gnu-", "aarch64-linux-gnu-"] : concat(
        [for name in [
          "gcc", "g++", "c++", "cpp", "gcc-ar", "gcc-nm", "gcc-ranlib", "addr2line", "ar", "as", "c++filt", "gold", "ld", "ld.bfd",
          "ld.gold", "nm", "objcopy", "objdump", "pkg-config", "pkgconf", "ranlib", "readelf", "size", "strings", "strip",
        ] : optional("/usr/bin/${prefix}${name}")],
        flatten([for version in [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18] : [
          optional("/usr/bin/${prefix}gcc-${version}"), optional("/usr/bin/${prefix}g++-${version}"), optional("/usr/bin/${prefix}cpp-${version}"),
          optional("/usr/bin/${prefix}gcc-ar-${version}"), optional("/usr/bin/${prefix}gcc-nm-${version}"), optional("/usr/bin/${prefix}gcc-ranlib-${version}"),
        ]]),
      )]),
      [for name in ["cc", "c89", "c89-gcc", "c99", "c99-gcc", "clang", "clang++", "ld.lld", "lld", "ld64.lld", "make", "gmake"] : optional("/usr/bin/${name}")],
      flatten([for version in [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24] : [
        optional("/usr/lib/llvm-${version}/bin"), optional("/usr/lib/llvm${version}/bin"), optional("/usr/bin/clang-${version}"), optional("/usr/bin/clang++-${version}"),
      ]]),
      [
        optional("/usr/lib/gcc"), optional("/usr/libexec/gcc"),
        optional("/Library/Developer/CommandLineTools/usr/bin"), optional("/Library/Developer/CommandLineTools/usr/libexec"),
      ],
    )
  }
}
