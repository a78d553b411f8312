package propose

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// secret is a place of which nothing is proposed, wherever it is: what lies there opens
// other doors. The list can never be complete, so home directories have a rule of their
// own beside it (home.go); this is about what lies elsewhere. Name is a pattern
// (path.Match) for one component, and everything below it; it may have several
// components, of which the last may be followed by anything. The sources are the
// manuals of the programs concerned.
type secret struct{ name, what string }

var secrets = []secret{
	{".ssh", "SSH keys and hosts"},
	{"id_*", "an SSH key"},
	{".gnupg", "GnuPG keys"},
	{".aws", "credentials of AWS"},
	{".azure", "credentials of Azure"},
	{".config/gcloud", "credentials of Google Cloud"},
	{".kube", "credentials of Kubernetes"},
	{".docker", "credentials of registries"},
	{".config/containers", "credentials of registries"},
	{".config/gh", "a token of GitHub"},
	{".config/glab-cli", "a token of GitLab"},
	{".config/hub", "a token of GitHub"},
	{".config/op", "credentials of 1Password"},
	{".config/rclone", "credentials of storage"},
	{".oci", "credentials of Oracle Cloud"},
	{".s3cfg", "credentials of storage"},
	{".boto", "credentials of storage"},
	{".gsutil", "credentials of storage"},
	{".config/doctl", "a token of DigitalOcean"},
	{".config/hcloud", "a token of Hetzner Cloud"},
	{".config/ngrok", "a token of ngrok"},
	{".ngrok2", "a token of ngrok"},
	{".databrickscfg", "a token of Databricks"},
	{".kaggle", "a token of Kaggle"},
	{"huggingface/token", "a token of Hugging Face"},
	{"huggingface/stored_tokens", "tokens of Hugging Face"},
	{".config/github-copilot", "a token of GitHub"},
	{".claude/.credentials.json", "credentials of an agent"},
	{".codex/auth.json", "credentials of an agent"},
	{".gemini/oauth_creds.json", "credentials of an agent"},
	{"sops/age", "age keys"},
	{"*.agekey", "an age key"},
	{".dockercfg", "credentials of registries"},
	{"kubeconfig", "credentials of Kubernetes"},
	{"*.kubeconfig", "credentials of Kubernetes"},
	{"*.tfstate", "secrets of Terraform"},
	{"*.tfvars", "secrets of Terraform"},
	{".config/git/credentials", "passwords of Git"},
	{".git-credentials", "passwords of Git"},
	{".netrc", "passwords"},
	{"_netrc", "passwords"},
	{".authinfo*", "passwords"},
	{".npmrc", "a token of npm"},
	{".yarnrc.yml", "a token of npm"},
	{".pypirc", "a password of PyPI"},
	{".cargo/credentials*", "a token of crates.io"},
	{".gem/credentials", "a token of RubyGems"},
	{".m2/settings*.xml", "passwords of Maven"},
	{".gradle/gradle.properties", "passwords of Gradle"},
	{"auth.json", "tokens of Composer"},
	{".bundle/config", "passwords of Bundler"},
	{".sbt/.credentials", "passwords of sbt"},
	{".ivy2/.credentials", "passwords of Ivy"},
	{".nuget", "passwords of NuGet"},
	{"[Nn]u[Gg]et.[Cc]onfig", "passwords of NuGet"},
	{".msmtprc", "passwords of mail"},
	{".fetchmailrc", "passwords of mail"},
	{".smbcredentials", "a password"},
	{".htpasswd", "password hashes"},
	{".terraform.d", "credentials of Terraform"},
	{".terraformrc", "credentials of Terraform"},
	{".vault-token", "a token of Vault"},
	{".pgpass", "passwords of PostgreSQL"},
	{".my.cnf", "a password of MySQL"},
	{".password-store", "passwords"},
	{"keyrings", "passwords"},
	{"Keychains", "passwords"},
	{"*.kdbx", "passwords"},
	{"*.keychain*", "passwords"},
	{".mozilla", "a browser's sessions"},
	{".config/google-chrome", "a browser's sessions"},
	{".config/chromium", "a browser's sessions"},
	{".config/BraveSoftware", "a browser's sessions"},
	{".config/microsoft-edge*", "a browser's sessions"},
	{".thunderbird", "mail and its passwords"},
	{".Xauthority", "the key to a display"},
	{".ICEauthority", "the key to a desktop"},
	{"wallet.dat", "a wallet"},
	{".bitcoin", "a wallet"},
	{".electrum", "a wallet"},
	{".ethereum", "a wallet"},
	{"Cookies", "a browser's sessions"},
	{"credentials.json", "credentials of a service"},
	{"service?account*.json", "credentials of a service"},
	{"*deploy?key", "an SSH key"},
	{"secrets.yaml", "secrets of a program"},
	{"secrets.yml", "secrets of a program"},
	{"secrets.json", "secrets of a program"},
	{"secrets.toml", "secrets of a program"},
	{".env", "secrets of a program"},
	{".env.*", "secrets of a program"},
	{"*.pem", "a key"},
	{"*.key", "a key"},
	{"*.p12", "a key"},
	{"*.pfx", "a key"},
	{"*.jks", "a key"},
	{"*.ppk", "a key"},
	{"*_history", "what was typed"},
	{".*_history", "what was typed"},
	{"etc/shadow*", "password hashes"},
	{"etc/gshadow*", "password hashes"},
	{"etc/sudoers*", "rights of users"},
	{"ssh_host_*_key", "keys of this machine"},
	{"etc/security/opasswd", "password hashes"},
	{"etc/NetworkManager/system-connections", "passwords of networks"},
	{"etc/wireguard", "keys of networks"},
	{"etc/letsencrypt", "keys of this machine"},
	{"etc/kubernetes", "credentials of Kubernetes"},
	{"etc/ssl/private", "keys of this machine"},
	{"etc/pki/tls/private", "keys of this machine"},
	{"etc/docker/key.json", "a key of this machine"},
	{"etc/krb5.keytab", "keys of this machine"},
	{"run/secrets", "secrets of a container"},
	{"docker.sock", "control over this machine's containers"},
	{"podman.sock", "control over this machine's containers"},
	{"containerd.sock", "control over this machine's containers"},
	{"ssh-*/agent.*", "an SSH agent"},
	{"S.gpg-agent*", "a GnuPG agent"},
}

// starts is what other programs, outside of every sandbox, will run or heed. It may
// be read; nothing that writes it is proposed.
var starts = []secret{
	{".bashrc", "a shell starts with it"},
	{".bash_*", "a shell starts with it"},
	{".profile", "a shell starts with it"},
	{".zshrc", "a shell starts with it"},
	{".zshenv", "a shell starts with it"},
	{".zprofile", "a shell starts with it"},
	{".zlogin", "a shell starts with it"},
	{".config/fish", "a shell starts with it"},
	{".inputrc", "a shell starts with it"},
	{".vimrc", "an editor starts with it"},
	{".config/nvim", "an editor starts with it"},
	{".vscode", "an editor runs what it says"},
	{".idea", "an editor runs what it says"},
	{".envrc", "a shell runs it"},
	{".gitconfig", "Git runs what it says"},
	{".config/git", "Git runs what it says"},
	{".git/hooks", "Git runs what it says"},
	{".git/config", "Git runs what it says"},
	{".gitmodules", "Git runs what it says"},
	{".config/autostart", "the desktop starts what it says"},
	{".config/systemd", "systemd starts what it says"},
	{".local/share/systemd", "systemd starts what it says"},
	{"Library/LaunchAgents", "launchd starts what it says"},
	{".local/bin", "a shell finds programs in it"},
	{".cshrc", "a shell starts with it"},
	{".tcshrc", "a shell starts with it"},
	{".kshrc", "a shell starts with it"},
	{".login", "a shell starts with it"},
	{".zlogout", "a shell starts with it"},
	{".oh-my-zsh", "a shell starts with it"},
	{".tmux.conf", "tmux starts with it"},
	{".config/tmux", "tmux starts with it"},
	{".screenrc", "screen starts with it"},
	{".gdbinit", "a debugger starts with it"},
	{".lldbinit", "a debugger starts with it"},
	{".emacs", "an editor starts with it"},
	{".emacs.d", "an editor starts with it"},
	{".config/emacs", "an editor starts with it"},
	{".dir-locals.el", "an editor starts with it"},
	{".vim", "an editor starts with it"},
	{".exrc", "an editor starts with it"},
	{".nvimrc", "an editor starts with it"},
	{".devcontainer", "an editor runs what it says"},
	{".claude", "an agent runs what it says"},
	{".codex", "an agent runs what it says"},
	{".gemini", "an agent runs what it says"},
	{".cursor", "an agent runs what it says"},
	{".mcp.json", "an agent runs what it says"},
	{".pam_environment", "the desktop starts with it"},
	{".xprofile", "the desktop starts with it"},
	{".xinitrc", "the desktop starts with it"},
	{".xsession*", "the desktop starts with it"},
	{".config/environment.d", "systemd starts what it says"},
	{".config/direnv", "a shell runs it"},
	{".git/config.worktree", "Git runs what it says"},
	{".git/modules", "Git runs what it says"},
	{".pre-commit-config.yaml", "Git runs what it says"},
	{".husky", "Git runs what it says"},
	{".github", "GitHub runs what it says"},
	{".gitlab-ci.yml", "GitLab runs what it says"},
	{".circleci", "CircleCI runs what it says"},
	{".cargo/config", "a build runs what it says"},
	{".cargo/config.toml", "a build runs what it says"},
	{".gradle/init*", "a build runs what it says"},
	{".m2", "a build runs what it says"},
	{".mvn", "a build runs what it says"},
	{"pip.conf", "a build runs what it says"},
	{".yarnrc*", "a build runs what it says"},
	{"usercustomize.py", "Python starts with it"},
	{"sitecustomize.py", "Python starts with it"},
	{"site-packages/*.pth", "Python starts with it"},
	{".ipython", "Python starts with it"},
	{".jupyter", "Python starts with it"},
	{".pythonrc*", "Python starts with it"},
	{".Rprofile", "R starts with it"},
	{".irbrc", "Ruby starts with it"},
	{".cargo/bin", "a shell finds programs in it"},
	{".rustup", "a shell finds programs in it"},
	{"go/bin", "a shell finds programs in it"},
	{".pyenv", "a shell finds programs in it"},
	{".rbenv", "a shell finds programs in it"},
	{".asdf", "a shell finds programs in it"},
	{".sdkman", "a shell finds programs in it"},
	{".volta", "a shell finds programs in it"},
	{".npm-global", "a shell finds programs in it"},
	{".nvm", "a shell finds programs in it"},
	{"crontabs", "cron starts what it says"},
	{".obspc", "it is obspc's own"},
	{"*.policy.hcl", "it is a policy"},
	{"obspc.pins", "it says what obspc accepts"},
}

// public are places where files named like keys are certificates that everybody may
// read; a home directory below one of them, as in /usr/home, is none.
var public = []ir.Path{
	ir.MustPath("/etc/ssl/certs"), ir.MustPath("/etc/ssl/cert.pem"), ir.MustPath("/etc/pki/tls/certs"), ir.MustPath("/etc/pki/tls/cert.pem"),
	ir.MustPath("/etc/pki/ca-trust"), ir.MustPath("/usr"), ir.MustPath("/System"), ir.MustPath("/nix/store"),
}

// secret is why nothing about a path is proposed, "" when it is no secret.
func (p *proposer) secret(at ir.Path) string {
	if !p.inHome(at) && slices.ContainsFunc(public, func(tree ir.Path) bool { return tree.Covers(at) }) {
		return ""
	}
	for _, s := range secrets {
		if s.within(at) {
			return fmt.Sprintf("it is %s, which is never proposed", s.what)
		}
	}
	return p.hidden(at)
}

// covers is why writing all of a path is not proposed: what it holds, or would.
func (p *proposer) covers(at ir.Path) string {
	for _, s := range slices.Concat(secrets, starts) {
		if s.within(at) {
			return s.what
		}
		// A workspace may be a hidden directory of the home directory. Places there are
		// known whether or not they are there.
		for _, home := range p.homes {
			if below, err := ir.NewPath(ir.Host, home.String()+"/"+s.name); err == nil && !strings.ContainsAny(s.name, ir.Wildcards) && at.Covers(below) {
				return fmt.Sprintf("%s lies: %s", Stated(p.Binding, below), s.what)
			}
		}
	}
	return ""
}

// within reports whether a path is at or below a place of that name.
func (s secret) within(at ir.Path) bool {
	want, have := strings.Split(s.name, "/"), strings.Split(at.Rel(), "/")
	for i := 0; i+len(want) <= len(have); i++ {
		all := true
		for j, pattern := range want {
			ok, _ := path.Match(pattern, have[i+j])
			all = all && ok
		}
		if all {
			return true
		}
	}
	return false
}
