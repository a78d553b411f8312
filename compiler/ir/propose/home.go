package propose

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Home directories are judged the other way round than the rest of a machine: programs
// keep tokens, sessions and what starts them there, under hidden names that no list can
// know. So nothing hidden is proposed but what stands here, and nothing at all for
// writing outside of the workspace.

// harmless are hidden places of a home directory that may be proposed to read, and what
// lies below them: programs need them, and none is a place for secrets. Each name may be
// a pattern (path.Match). Files that a token may stand in are missing, though many
// programs read them (.cargo/config.toml, .config/pip/pip.conf, .bashrc).
var harmless = []string{
	".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes", ".gitignore", ".gitignore_global", ".gitattributes",
	".terminfo", ".inputrc", ".editrc", ".dircolors", ".hushlogin", ".nanorc", ".XCompose", ".CFUserTextEncoding",
	".config/locale.conf", ".config/user-dirs.dirs", ".config/user-dirs.locale", ".config/mimeapps.list",
	".fonts", ".fonts.conf", ".config/fontconfig", ".cache/fontconfig", ".local/share/fonts", ".local/share/icons", ".local/share/mime",
	// Programs and libraries, as installers put them there.
	".local/bin", ".local/lib/python*/site-packages", ".cargo/bin", ".rustup/toolchains", ".rustup/settings.toml",
	".nvm/versions", ".pyenv/versions", ".pyenv/shims", ".rbenv/versions", ".sdkman/candidates", ".m2/repository",
	".linuxbrew/Cellar", ".linuxbrew/bin", ".linuxbrew/lib", ".linuxbrew/opt", ".linuxbrew/share",
	".asdf/installs", ".asdf/shims", ".tool-versions", ".local/share/mise/installs", ".local/share/mise/shims",
	".volta/bin", ".volta/tools", ".bun/bin", ".deno/bin", ".ghcup/bin", ".ghcup/ghc", ".local/share/uv/python", ".local/share/uv/tools",
	"Library/Fonts", "Library/Java",
	// What package managers have fetched, without who they are.
	".cargo/registry", ".cargo/git/db", ".cargo/git/checkouts", ".npm/_cacache", ".local/share/pnpm/store", ".cache/go-build", ".cache/pip", ".cache/uv",
	".gradle/caches", ".gradle/wrapper", ".ivy2/cache",
}

// Where systems keep home directories, those of other users as well.
var (
	homesIn = []ir.Path{
		ir.MustPath("/home"), ir.MustPath("/Users"), ir.MustPath("/System/Volumes/Data/Users"),
		ir.MustPath("/var/home"), ir.MustPath("/usr/home"), ir.MustPath("/export/home"), ir.MustPath("/data/home"),
	}
	homes = []ir.Path{ir.MustPath("/root"), ir.MustPath("/var/root"), ir.MustPath("/var/lib/jenkins")}
)

// homeAround is the home directory that a path is or lies in, the nearest; false when
// there is none, and for what lies in a workspace below it.
func (p *proposer) homeAround(at ir.Path) (ir.Path, bool) {
	for q := range at.Upward() {
		if !p.isHome(q) {
			continue
		}
		workspace, bound := p.Binding.At(ir.Workspace)
		return q, !bound || !q.Above(workspace) || !workspace.Covers(at)
	}
	return ir.Path{}, false
}

// inHome reports whether a path lies in a home directory and not in the workspace.
func (p *proposer) inHome(at ir.Path) bool {
	_, ok := p.homeAround(at)
	return ok
}

func (p *proposer) isHome(at ir.Path) bool {
	above, ok := at.Parent()
	return ok && (slices.Contains(p.homes, at) || slices.Contains(homes, at) || slices.Contains(homesIn, above))
}

// holdsHomes reports whether home directories lie in a directory, or are it.
func (p *proposer) holdsHomes(at ir.Path) bool {
	return p.isHome(at) || slices.ContainsFunc(slices.Concat(p.homes, homes, homesIn), at.Covers)
}

// hidden is why nothing about a path is proposed that lies in the hidden part of a home
// directory, "" when it does not or is known to be harmless. Library is what macOS hides.
func (p *proposer) hidden(at ir.Path) string {
	home, ok := p.homeAround(at)
	if !ok || at == home {
		return ""
	}
	rest := strings.TrimPrefix(at.Rel()[len(home.Rel()):], "/")
	first, _, _ := strings.Cut(rest, "/")
	if !strings.HasPrefix(first, ".") && !strings.EqualFold(first, "Library") || slices.ContainsFunc(harmless, func(name string) bool { return heads(name, rest) }) {
		return ""
	}
	return fmt.Sprintf("%s is hidden in a home directory, and nothing there is proposed but what is known to hold no secret", Stated(p.Binding, home.Join(first)))
}

// heads reports whether a name of the list is the beginning of a path.
func heads(name, rest string) bool {
	want, have := strings.Split(name, "/"), strings.Split(rest, "/")
	if len(want) > len(have) {
		return false
	}
	for i, pattern := range want {
		if ok, _ := path.Match(pattern, have[i]); !ok {
			return false
		}
	}
	return true
}
