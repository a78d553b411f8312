package policies_test

// ordinary lists programs as people use them with std/base alone: a shell script
// that prints the same outside and inside. The policy is one of
// testdata/programs.policy.hcl.
var ordinary = []struct {
	name, policy string
	programs     []string
	script       string
}{
	{name: "dash and core utilities", policy: "programs",
		programs: []string{"cat", "cp", "date", "df", "env", "find", "grep", "head", "id", "ln", "ls", "mkdir", "mktemp", "mv", "nproc", "rm", "sed", "sort", "stat", "touch", "tr", "tty", "uname", "wc", "xargs"},
		script: `
printf abc | sed s/b/X/ | tr a z; echo
printf 'b\na\n' | sort | head -n 1
printf 'a\nb\n' | grep -c .
mkdir -p a/b; touch a/b/c; ln -s c a/b/d; mv a/b/c a/b/e; cp a/b/e f; rm f
find . | sort; ls -lR a | wc -l
find . -type f | xargs stat -c '%U %G %a'
file=$(mktemp); echo "${file%/*}"; rm "$file"
id; id -un; nproc; uname -srm; pwd; tty || true
TZ=Europe/Paris date -d @0 +%H:%M%z; date +%Y%Z
df -P . | wc -l; env | sed -n '/^HOME=/p; /^TMPDIR=/p'
ls -d /bin/sh /dev/null /proc/self/status
cat /etc/os-release | wc -l`},
	{name: "awk, by way of Debian's alternatives", policy: "programs", programs: []string{"awk"},
		script: `awk 'BEGIN { print 6 * 7 }'`},
	{name: "bash", policy: "programs", programs: []string{"bash", "cat", "diff"},
		script: `bash -euc 'echo "$BASH_VERSION"; cat <<< here; diff <(echo a) <(echo a); coproc cat; echo "$COPROC_PID" >/dev/null; echo x >/dev/null; printf "%(%Y)T\n"'`},
	{name: "archives", policy: "programs", programs: []string{"tar", "gzip", "cat", "touch"},
		script: `echo text >file; touch -d @0 file; tar czf a.tgz file; tar tzvf a.tgz; gzip -n <file | gzip -dc`},
	{name: "xz", policy: "programs", programs: []string{"xz"}, script: `echo text | xz -T2 | xz -dc`},
	{name: "make", policy: "programs", programs: []string{"make", "echo"},
		script: `printf 'all:\n\t@echo made $(words a b c)\n' >Makefile; make`},
	{name: "ssh", policy: "programs", programs: []string{"ssh", "ssh-keygen", "wc"},
		script: `ssh -V; ssh-keygen -q -t ed25519 -N '' -f key; ssh-keygen -lf key | wc -w`},
	{name: "openssl", policy: "programs", programs: []string{"openssl"}, script: `openssl version; echo text | openssl dgst -sha256`},
	{name: "curl", policy: "programs", programs: []string{"curl"}, script: `curl --version`},
	// The pool is ended by hand: at exit CPython 3.11 wakes a pool's thread that may
	// just be closing (_python_exit in concurrent/futures/process.py).
	{name: "python, a pool of processes", policy: "programs", programs: []string{"python3"}, script: `python3 -c '
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2) as pool: print(list(pool.map(abs, [-1])))'`},
	{name: "python, what it asks of the system", policy: "programs", programs: []string{"python3"}, script: `python3 -c '
import os, getpass, locale, multiprocessing.shared_memory, platform, socket, ssl, sqlite3, sys, tempfile, time
print(sys.version, os.cpu_count(), getpass.getuser(), platform.libc_ver(), platform.freedesktop_os_release()["ID"], time.tzname)
print(tempfile.gettempdir(), os.path.expanduser("~"), sys.getfilesystemencoding(), sqlite3.connect(":memory:").execute("select 1").fetchone())
print(socket.gethostbyname("localhost"))
memory = multiprocessing.shared_memory.SharedMemory(create=True, size=64)
memory.close(); memory.unlink()
server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname()).close()'`},
	{name: "perl", policy: "perl", programs: []string{"perl"},
		script: `perl -MPOSIX -e 'print "$]\n", scalar getpwuid($<), "\n", strftime("%Y%Z", localtime), "\n"; print getcwd(), "\n"'`},
	{name: "perl's own modules", policy: "perl", programs: []string{"perl", "pod2text"},
		script: `perl -MFile::Find -MDigest::SHA=sha1_hex -e 'find(sub { print "$_\n" }, "."); print sha1_hex("x"), "\n"'`},
	{name: "a program of musl", policy: "gcc", programs: []string{"musl-gcc", "gcc", "as", "ld"}, script: `
printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' >hello.c
musl-gcc -o hello hello.c; ./hello`},
}
