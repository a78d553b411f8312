# A fresh machine needs Go 1.26, git and make; the targets install the rest.
GO       ?= go
VERSION  ?= $(shell git describe --always --dirty 2>/dev/null || echo unknown)
LDFLAGS   = -s -w -buildid= -X github.com/obspc/obspc/verify/release.Version=$(VERSION)
export CGO_ENABLED = 0

.PHONY: build demo test layouts programs kernels soak mac-proof release lint clean

build: ## both programs, static, into bin/
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/obspc ./cmd/obsrun

demo: ## the main job on the embedded demo policies, start to end
	scripts/need bubblewrap
	@$(MAKE) --no-print-directory build
	$(GO) run ./cmd/obspc-demo -bin bin

test: ## the whole suite, live sandbox tests included
	scripts/need bubblewrap git jq
	$(GO) test -timeout 40m ./...

layouts: ## the demo and the live tests on Debian 13's files, as root or through sudo
	scripts/need bubblewrap
	scripts/layouts

programs: ## the same, with every program that a template is for installed there: git, Go, Node, Python, Rust, Java
	scripts/need bubblewrap
	scripts/layouts --programs

kernels: ## the same on other kernels, in virtual machines: Debian 12, 13 and the next, without Landlock, without cgroups, …
	scripts/kernels

soak: ## what is too long for every change: thousands of policies in real sandboxes, longer fuzzing
	scripts/need bubblewrap
	scripts/soak

mac-proof: ## on a Mac: what its kernel does under the profiles, into docs/mac-proof.json
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/mac-proof
	bin/mac-proof -commit "$$(git describe --always --dirty --abbrev=40 --exclude '*')" -o docs/mac-proof.json

RELEASE_KEY ?=

release: ## archives for every system, bills of materials, SHA256SUMS, signed with RELEASE_KEY, into dist/
	$(GO) run ./cmd/release -o dist -twice $(if $(RELEASE_KEY),-key '$(RELEASE_KEY)')

lint: ## what a reviewer would ask first
	scripts/lint

clean:
	rm -rf bin dist
