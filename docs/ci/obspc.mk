# For a Makefile: include it, or copy what you use.
OBSPC    ?= obspc
POLICIES ?= policies
GOLDEN   ?= golden
PRODUCT  ?= acme
SERIAL   ?= 1

.PHONY: policies-check policies-verify policies-golden policies-release

policies-check: ## what can be said before anything is compiled
	$(OBSPC) validate $(POLICIES)
	$(OBSPC) lint $(POLICIES)
	$(OBSPC) rules $(POLICIES)

policies-release: ## compile the release that obspc.hcl verifies
	$(OBSPC) compile $(POLICIES) -o release --product $(PRODUCT) --serial $(SERIAL) --expires 2099-01-01T00:00:00Z

policies-golden: ## accept what the policies become, once reviewed
	$(OBSPC) golden $(POLICIES) --dir $(GOLDEN) --update

policies-verify: ## all that obspc.hcl asks for
	$(OBSPC) verify
