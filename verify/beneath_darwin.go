package verify

// openBeneath opens name, a clean relative name, below the directory root. No
// component may be a link.
func openBeneath(root int, name string, flags int) (int, error) {
	return stepwise(root, name, flags)
}
