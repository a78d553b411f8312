package propose_test

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
)

// at is what propose.For proposes for one access in a setting.
func at(t *testing.T, s propose.Setting, text string) propose.Finding {
	t.Helper()
	found, err := propose.For(s, []propose.Access{{Request: request(t, text), Count: 1}})
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d findings, %v", text, len(found), err)
	}
	return found[0]
}

// TestHome: nothing hidden of a home directory is proposed, and nothing for writing,
// whatever its name; beside each place the same name elsewhere, of which a line is.
func TestHome(t *testing.T) {
	s := propose.Setting{Policy: compiled(t, body, ""), Binding: binding}
	for _, name := range []string{
		".no-list-knows-it", ".claude/projects/x", ".cache/x", ".config/x/y", ".local/share/x", ".gitconfig.d/x", ".gitconfigs", ".cargo/config.toml", ".terminfos/x",
		"Library/Preferences/x", "library/x", ".local/lib/x", ".local/lib/python3/x",
	} {
		for _, home := range []string{"/home/u/", "/home/v/", "/root/", "/Users/w/", "/data/home/x/", "/System/Volumes/Data/Users/w/", "/var/lib/jenkins/"} {
			if f := at(t, s, "read "+home+name); len(f.Add) > 0 || !strings.Contains(f.Withheld, "hidden in a home directory") {
				t.Errorf("%s: %+v, %q", f.Request, f.Add, f.Withheld)
			}
		}
		if f := at(t, s, "read /srv/x/"+name); len(f.Add) == 0 {
			t.Errorf("%s: %q", f.Request, f.Withheld)
		}
	}
	for _, name := range []string{"x", "bin/tool", "go/bin/tool", "cache/x/y", "d/.gitconfig"} {
		for _, home := range []string{"/home/u/", "/home/v/", "/root/", "/Users/w/", "/data/home/x/", "/System/Volumes/Data/Users/w/", "/var/lib/jenkins/"} {
			if f := at(t, s, "write "+home+name); len(f.Add) > 0 || !strings.Contains(f.Withheld, "in a home directory nothing") && !strings.Contains(f.Withheld, "system's") {
				t.Errorf("%s: %+v, %q", f.Request, f.Add, f.Withheld)
			}
		}
	}
	for _, name := range []string{".gitconfig", ".config/git/attributes", ".terminfo/x/xterm", ".cargo/bin/rustc", ".rustup/toolchains/x/lib/y", ".asdf/installs/x/bin/y", ".cargo/registry/src/x", "Library/Fonts/x.ttf", "notes2/.hidden", "bin/tool"} {
		if f := at(t, s, "read /home/u/"+name); len(f.Add) == 0 {
			t.Errorf("%s: %q", f.Request, f.Withheld)
		}
		if f := at(t, s, "write /home/u/"+name); len(f.Add) > 0 {
			t.Errorf("%s: %+v", f.Request, f.Add)
		}
	}
}

// TestHomeElsewhere: a home directory is one wherever it is, and whether or not a slot may
// be bound to it.
func TestHomeElsewhere(t *testing.T) {
	s := propose.Setting{Policy: compiled(t, body, ""), Binding: ir.Binding{}.With(ir.Workspace, ir.MustPath("/data2/ci/work")).With(ir.Home, ir.MustPath("/data2/u"))}
	for text, want := range map[string]bool{"read /data2/u/.x": false, "write /data2/u/x": false, "read /data2/ci/.x": true, "write /data2/ci/x": true, "write /data2/ci/work/.hidden2/x": true} {
		if f := at(t, propose.Setting{Policy: compiled(t, carveOutAll, ""), Binding: s.Binding}, text); len(f.Add) > 0 != want {
			t.Errorf("%s: %+v, %q, want a line: %v", text, f.Add, f.Withheld, want)
		}
	}
	s.Homes = []ir.Path{ir.MustPath("/data2/ci")}
	for _, text := range []string{"read /data2/ci/.x", "write /data2/ci/x"} {
		if f := at(t, s, text); len(f.Add) > 0 || !strings.Contains(f.Withheld, "home directory") {
			t.Errorf("%s: %+v, %q", text, f.Add, f.Withheld)
		}
	}
}

// TestHomeInSystem: what lies below a directory of public files is a home directory all
// the same; beside each place another one there.
func TestHomeInSystem(t *testing.T) {
	s := propose.Setting{Policy: compiled(t, carveOutAll, ""), Binding: binding}
	for text, want := range map[string]bool{
		"read /usr/home/u/.token": false, "read /usr/home/u/x.pem": false, "read /usr/share/u/.token": true, "read /usr/share/u/x.pem": true,
		"read /System/Volumes/Data/Users/u/.token": false, "read /System/Volumes/Data/u/.token": true,
	} {
		if f := at(t, s, text); len(f.Add) > 0 != want {
			t.Errorf("%s: %+v, %q, want a line: %v", text, f.Add, f.Withheld, want)
		}
	}
}

const carveOutAll = `
  filesystem {
    read = [workspace]
  }`

// TestWorkspaceInHome: a workspace below a home directory is judged like any other place,
// the home directory itself as a workspace is not.
func TestWorkspaceInHome(t *testing.T) {
	p := compiled(t, carveOutAll, "")
	for _, tt := range []struct {
		workspace, request, withheld string
	}{
		{"/home/u/work", "write /home/u/work/x", ""},
		{"/home/u/work", "write /home/u/work/.x/y", ""},
		{"/home/u/.cache/work", "write /home/u/.cache/work/x", ""},
		{"/home/u/.cache/work", "write /home/u/.cache/x", "hidden in a home directory"},
		{"/home/u/work", "write /home/u/work/.git/hooks/x", "Git runs what it says"},
		{"/home/u/work", "write /home/u/work/.claude/settings.json", "an agent runs"},
		{"/home/u/work", "write /home/u/work/.pre-commit-config.yaml", "Git runs"},
		{"/home/u/work", "write /home/u/work/.m2/extensions.xml", "a build runs"},
		{"/home/u/work", "write /home/u/work2/x", "in a home directory nothing"},
		{"/home/u/.config", "create /home/u/.config/x", "${workspace}/gcloud lies"},
		{"/home/u", "write /home/u/x", "in a home directory nothing"},
		{"/srv/w", "write /srv/w/home/x", ""},
		{"/srv/w", "write /srv/w/nested/x", "in a home directory nothing"},
	} {
		b := ir.Binding{}.With(ir.Workspace, ir.MustPath(tt.workspace))
		s := propose.Setting{Policy: p, Binding: b, Homes: []ir.Path{ir.MustPath("/home/u"), ir.MustPath("/srv/w/nested")}}
		f := at(t, s, tt.request)
		if tt.withheld == "" && len(f.Add) == 0 || tt.withheld != "" && !strings.Contains(f.Withheld, tt.withheld) {
			t.Errorf("workspace %s: %s: %+v, %q, want %q", tt.workspace, tt.request, f.Add, f.Withheld, tt.withheld)
		}
	}
}

// TestNamedAnywhere: what the lists name is withheld wherever it lies.
func TestNamedAnywhere(t *testing.T) {
	s := propose.Setting{Policy: compiled(t, body, ""), Binding: binding}
	for _, name := range []string{
		".claude/.credentials.json", ".codex/auth.json", "sops/age/keys.txt", "huggingface/token", ".databrickscfg", ".oci/config", ".s3cfg", ".boto", ".gsutil/credstore", ".kaggle/kaggle.json",
		".config/github-copilot/hosts.json", ".config/doctl/config.yaml", ".config/ngrok/ngrok.yml", "auth.json", ".bundle/config", ".sbt/.credentials", ".ivy2/.credentials", ".nuget/x", "nuget.config", "NuGet.Config",
		".msmtprc", ".Xauthority", ".bitcoin/wallet.dat", "wallet.dat", ".electrum/x", ".thunderbird/x", ".config/BraveSoftware/x", ".config/microsoft-edge/x", "ssh_host_ed25519_key", "prod.tfstate",
		"etc/pki/tls/private/localhost", "etc/docker/key.json", "credentials.json", "service-account.json", "service-account-ci.json", "service_account.json", "deploy_key", "site_deploy_key", "secrets.yaml", "secrets.yml", "secrets.json", "secrets.toml",
	} {
		if f := at(t, s, "read /srv/x/"+name); len(f.Add) > 0 || !strings.Contains(f.Withheld, "never proposed") {
			t.Errorf("%s: %+v, %q", f.Request, f.Add, f.Withheld)
		}
	}
	for _, name := range []string{"etc/pki/tls/x", "etc/docker/daemon.json", "account.json", "deploy", "secrets.md", "secrets/x"} {
		if f := at(t, s, "read /srv/x/"+name); len(f.Add) == 0 {
			t.Errorf("%s: %q", f.Request, f.Withheld)
		}
	}
	for _, name := range []string{
		".cargo/config.toml", ".cargo/bin/x", "go/bin/x", ".pyenv/shims/x", ".npm-global/bin/x", ".nvm/nvm.sh", ".oh-my-zsh/x", ".tmux.conf", ".gdbinit", ".emacs", ".emacs.d/init.el", ".pam_environment", ".xprofile",
		".config/environment.d/x.conf", ".claude/settings.json", ".cursor/mcp.json", ".pre-commit-config.yaml", ".gradle/init.gradle", ".gradle/init.d/x", ".m2/extensions.xml", "lib/usercustomize.py", ".ipython/x/startup/x.py", "pip.conf",
	} {
		if f := at(t, s, "write /srv/x/"+name); len(f.Add) > 0 || !strings.Contains(f.Withheld, "it would take writing") {
			t.Errorf("%s: %+v, %q", f.Request, f.Add, f.Withheld)
		}
		if f := at(t, s, "read /srv/x/"+name); len(f.Add) == 0 {
			t.Errorf("%s: %q", f.Request, f.Withheld)
		}
	}
}
