package lint

// loaders start programs that name them as their interpreter, and any other file that
// is given to them (ld.so(8), dyld(1)).
var loaders = []string{
	"/lib64/ld-linux-x86-64.so.2", "/usr/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "/usr/lib/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
	"/usr/lib/ld-linux-aarch64.so.1", "/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1", "/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
	"/lib/ld-musl-x86_64.so.1", "/usr/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1", "/usr/lib/ld-musl-aarch64.so.1", "/usr/lib/dyld",
}

// interpreters run the code that their arguments or their input say.
var interpreters = []string{
	"/bin/sh", "/usr/bin/sh", "/bin/bash", "/usr/bin/bash", "/bin/dash", "/usr/bin/dash", "/bin/zsh", "/usr/bin/zsh", "/bin/busybox", "/usr/bin/busybox",
	"/usr/bin/python3", "/usr/bin/python", "/usr/bin/perl", "/usr/bin/ruby", "/usr/bin/node", "/usr/bin/lua", "/usr/bin/php", "/usr/bin/awk", "/usr/bin/gawk",
	"/usr/bin/osascript", "/usr/bin/env", "/usr/bin/make", "/usr/bin/gdb", "/usr/bin/vim", "/usr/local/bin/python3", "/usr/local/bin/node", "/usr/local/bin/bash",
	"/opt/homebrew/bin/python3", "/opt/homebrew/bin/node", "/opt/homebrew/bin/bash",
}

// wide are directories that hold more than any program needs.
var wide = []string{"/", "/home", "/root", "/Users", "/etc", "/private/etc", "/var", "/private/var", "/run", "/mnt", "/media", "/Volumes", "/srv", "/opt", "${home}"}

// services are sockets that give whoever connects much of the host.
var services = []string{
	"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/systemd/private",
	"/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0",
}
