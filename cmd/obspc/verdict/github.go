package verdict

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/verify"
)

// GitHub is the report as workflow commands of GitHub Actions ("Workflow commands",
// setting an error message): each failure at its line, so that it is shown in the
// pull request; the verdict last.
func (s Subject) GitHub() []byte {
	var b strings.Builder
	for _, r := range s.Report.Checks {
		for _, f := range r.Failures {
			file, line, column := s.location(f)
			fmt.Fprintf(&b, "::error title=%s,file=%s", property("obspc verify: "+r.Check), property(file))
			if line > 0 {
				fmt.Fprintf(&b, ",line=%d,col=%d", line, column)
			}
			fmt.Fprintf(&b, "::%s\n", data(text(f)))
		}
	}
	for _, w := range s.Report.Warnings {
		fmt.Fprintf(&b, "::warning title=%s::%s\n", property("obspc verify"), data(verify.Plain(w)))
	}
	level := "notice"
	if !s.Report.Verified() {
		level = "error"
	}
	fmt.Fprintf(&b, "::%s title=%s::%s\n", level, property("obspc verify"), data(s.Report.Verdict()))
	return []byte(b.String())
}

// A command ends at the end of its line and its properties at "," and ":", so these
// are written as percent escapes, and the percent sign first.
var (
	inData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func data(s string) string     { return inData.Replace(s) }
func property(s string) string { return inProperty.Replace(s) }
