package runtime

import "strings"

// remedy is what to do about a message of bubblewrap, and the check of Examine
// that the message belongs to.
type remedy struct{ says, check, help string }

// remedies are the failures that a machine's settings cause, by a part of the
// message that bubblewrap 0.8 to 0.12 prints.
var remedies = []remedy{
	{"setting up uid map: Permission denied", userNamespaces, appArmor},
	{"Failed RTM_NEWADDR", userNamespaces, appArmor},
	{"No permissions to create new namespace", userNamespaces, allowNamespaces},
	{"No permissions to creating new namespace", userNamespaces, allowNamespaces},
	{"Creating new namespace failed: No space left", userNamespaces, moreNamespaces},
	{"max_*_namespaces exceeded", userNamespaces, moreNamespaces}, // 0.9 and later
	{"Can't mount proc", theSandbox, "the container around hides parts of /proc: start it with an unmasked /proc (docker: --security-opt systempaths=unconfined)"},
	{"max_user_namespaces", theSandbox, "the container around has /proc/sys read-only: mount it writable for the set-up"},
	{"prctl(PR_SET_SECCOMP)", seccompFilter, "use a kernel with CONFIG_SECCOMP_FILTER; in a container its seccomp profile has to admit prctl"},
	{"Unknown option", theTool, installBwrap},
}

// allowNamespaces is what to do where making them is forbidden.
const allowNamespaces = "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), " +
	"and a user.max_user_namespaces above 0; in a container its seccomp profile has to admit unshare and mount"

// moreNamespaces is what to do where their number is used up.
const moreNamespaces = "raise sysctl user.max_user_namespaces, or leave the sandbox you are in"

// installBwrap is what to do without a usable bubblewrap.
const installBwrap = "install bubblewrap 0.8 or later (apt install bubblewrap, dnf install bubblewrap), or name another with --bwrap PATH"

// appArmor is Ubuntu's restriction since 23.10.
const appArmor = "AppArmor restricts user namespaces here (kernel.apparmor_restrict_unprivileged_userns=1): " +
	"install its profile for bwrap (Ubuntu: apt install apparmor-profiles, then ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ and reload)"

// maxSaid bounds how much of bubblewrap's own words is passed on, in bytes.
const maxSaid = 2000

// bwrapFailed is bubblewrap giving up before the command was started. said is
// what it wrote to standard error.
func bwrapFailed(said string) *Refusal {
	said = printable(said)
	help, check := "", ""
	for _, r := range remedies {
		if strings.Contains(said, r.says) {
			help, check = r.help, r.check
			break
		}
	}
	if said == "" {
		said = "it said nothing"
	}
	refusal := setupFailed(help, "bubblewrap could not set the sandbox up: %s", said)
	refusal.check = check
	return refusal
}

// printable is the beginning of text on one line, without control characters: it
// may quote paths that the sandbox made.
func printable(text string) string {
	if len(text) > maxSaid {
		text = text[:maxSaid] + " …"
	}
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\ufffd' {
			return '?'
		}
		return r
	}, text)
}
