package lang

// DidYouMean is a line of help for a name that stands for nothing: the candidate
// that it is a slip of, or all of them. Package compiler words its suggestions
// with it too, so that both read alike.
func DidYouMean(given string, candidates []string) string { return didYouMean(given, candidates) }
