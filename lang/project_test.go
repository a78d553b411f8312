package lang

import "testing"

func TestParseProject(t *testing.T) {
	v, diags := ParseProject(ProjectFile, []byte(`verify {
  release = "release"
  source  = "policies"
  keys    = ["a.pub", "b.pub"]
}
`))
	if len(diags) > 0 || v.Release.Value != "release" || v.Source.Value != "policies" || len(v.Keys) != 2 || v.Keys[1].Value != "b.pub" || v.Golden.Value != "" {
		t.Fatalf("ParseProject = %+v, %v", v, diags)
	}
	for _, tt := range []struct {
		name, text, code string
		line             int
	}{
		{"unknown attribute", "verify {\n  goldn = \"x\"\n}\n", "unknown-attribute", 2},
		{"unknown block", "verify {\n}\n\npolicy \"p\" {\n}\n", "unknown-block", 4},
		{"attribute of the file", "release = \"x\"\n", "unknown-attribute", 1},
		{"two blocks", "verify {\n}\n\nverify {\n}\n", "duplicate-block", 4},
		{"wrong type", "verify {\n  release = 1\n}\n", "wrong-type", 2},
		{"wrong type in a list", "verify {\n  keys = [1]\n}\n", "wrong-type", 2},
		{"a variable", "verify {\n  release = var.x\n}\n", "", 2},
		{"a slot", "verify {\n  release = workspace\n}\n", "", 2},
		{"HCL", "verify {\n", "syntax", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, diags := ParseProject(ProjectFile, []byte(tt.text))
			if !diags.HasErrors() || diags[0].At.Start.Line != tt.line || tt.code != "" && diags[0].Code != tt.code {
				t.Errorf("ParseProject finds %v, want %s in line %d", diags, tt.code, tt.line)
			}
		})
	}
}

func FuzzParseProject(f *testing.F) {
	f.Add([]byte("verify {\n  release = \"r\"\n  keys = [\"a\"]\n}\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { ParseProject(ProjectFile, text) })
}
