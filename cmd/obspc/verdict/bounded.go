package verdict

import (
	"fmt"
	"strings"
)

// MaxMarkdown is how long Markdown becomes, in bytes: a comment on GitHub has at
// most 65,536 characters, and who posts it may add what the call printed.
const MaxMarkdown = 48000

// bounded is Markdown of at most limit bytes, cut between lines: a code block and
// a fold that are open there are closed, and how much is missing is said.
func bounded(text string, limit int) []byte {
	if len(text) <= limit {
		return []byte(text)
	}
	const room = 200 // for what is said at the end
	total := strings.Count(text, "\n")
	var b strings.Builder
	fence, folds, lines := "", 0, 0
	for line := range strings.Lines(text) {
		if b.Len()+len(line)+len(fence)+folds*len(foldEnd) > limit-room {
			break
		}
		b.WriteString(line)
		lines++
		switch {
		case fence != "":
			if strings.TrimRight(line, "\n") == fence {
				fence = ""
			}
		case strings.HasPrefix(line, "```"):
			fence = strings.Repeat("`", len(line)-len(strings.TrimLeft(line, "`")))
		case strings.HasPrefix(line, "<details>"):
			folds++
		case strings.HasPrefix(line, "</details>"):
			folds--
		}
	}
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	b.WriteString(strings.Repeat(foldEnd, folds))
	fmt.Fprintf(&b, "\n**This is too long for a comment: %d more lines are not shown.** `obspc verify` and `obspc diff` show all of it.\n", total-lines)
	return []byte(b.String())
}

const foldEnd = "\n</details>\n"
