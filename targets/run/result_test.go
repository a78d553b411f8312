package run

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseResult(t *testing.T) {
	const twin = `{"id":"a-1","ok":true,"state":"done","status":200}`
	for _, tt := range []struct {
		name, stdout string
		want         string // "": refused
	}{
		{"canonical", twin, twin},
		{"a line", twin + "\n", twin},
		{"another order, with space", " \t\r\n{ \"status\" : 200,\n\"state\":\"done\", \"ok\":true, \"id\":\"a-1\" } \n", twin},
		{"escapes", `{"id":"\u0061-1","ok":true,"state":"\u00fc","status":200}`, `{"id":"a-1","ok":true,"state":"ü","status":200}`},
		{"a name in escapes", strings.Replace(twin, `"id"`, `"\u0069d"`, 1), twin},
		{"false", strings.Replace(twin, "true", "false", 1), strings.Replace(twin, "true", "false", 1)},
		{"the least", strings.Replace(twin, "200", "100", 1), strings.Replace(twin, "200", "100", 1)},
		{"the most", strings.Replace(twin, "200", "599", 1), strings.Replace(twin, "200", "599", 1)},

		{"nothing", "", ""},
		{"white space", " \n", ""},
		{"an empty object", "{}", ""},
		{"null", "null", ""},
		{"a list", "[" + twin + "]", ""},
		{"a string", `"x"`, ""},
		{"two objects", twin + twin, ""},
		{"two lines", twin + "\n" + twin, ""},
		{"text before", "ok\n" + twin, ""},
		{"text after", twin + "\nok", ""},
		{"a bracket after", twin + "}", ""},
		{"NUL after", twin + "\x00", ""},
		{"a byte order mark", "\ufeff" + twin, ""},
		{"not UTF-8", strings.Replace(twin, "a-1", "\xff", 1), ""},
		{"cut short", twin[:len(twin)-1], ""},
		{"cut in a name", twin[:3], ""},
		{"a trailing comma", strings.Replace(twin, "}", ",}", 1), ""},
		{"a comment", "/**/" + twin, ""},
		{"a duplicate", strings.Replace(twin, `"ok"`, `"id":"a-1","ok"`, 1), ""},
		{"a duplicate in escapes", strings.Replace(twin, `"ok"`, `"\u0069d":"a-1","ok"`, 1), ""},
		{"another case", strings.Replace(twin, `"id"`, `"ID"`, 1), ""},
		{"one more", strings.Replace(twin, `"ok"`, `"more":1,"ok"`, 1), ""},
		{"one less", strings.Replace(twin, `"ok":true,`, ``, 1), ""},
		{"a name without quotes", strings.Replace(twin, `"ok"`, `ok`, 1), ""},
		{"below the range", strings.Replace(twin, "200", "99", 1), ""},
		{"above the range", strings.Replace(twin, "200", "600", 1), ""},
		{"past 64 bits", strings.Replace(twin, "200", "18446744073709551816", 1), ""},
		{"a fraction", strings.Replace(twin, "200", "200.0", 1), ""},
		{"an exponent", strings.Replace(twin, "200", "2e2", 1), ""},
		{"a leading zero", strings.Replace(twin, "200", "0200", 1), ""},
		{"a plus sign", strings.Replace(twin, "200", "+200", 1), ""},
		{"a number in quotes", strings.Replace(twin, "200", `"200"`, 1), ""},
		{"NaN", strings.Replace(twin, "200", "NaN", 1), ""},
		{"null for a value", strings.Replace(twin, "200", "null", 1), ""},
		{"an object for a value", strings.Replace(twin, "200", "{}", 1), ""},
		{"100,000 brackets for a value", strings.Replace(twin, "200", strings.Repeat("[", 60000), 1), ""},
		{"a number for a boolean", strings.Replace(twin, "true", "1", 1), ""},
		{"a number for an identifier", strings.Replace(twin, `"a-1"`, "1", 1), ""},
		{"no identifier", strings.Replace(twin, "a-1", "-1", 1), ""},
		{"an identifier of 9 bytes", strings.Replace(twin, "a-1", "123456789", 1), ""},
		{"outside the enum", strings.Replace(twin, "done", "Done", 1), ""},
		{"half a surrogate pair", strings.Replace(twin, "done", `\ud800`, 1), ""},
		{"a control character in a string", strings.Replace(twin, "done", "do\nne", 1), ""},
		{"64 KiB and a byte", twin + strings.Repeat(" ", MaxResultBytes+1-len(twin)), ""},
		{"64 KiB", twin + strings.Repeat(" ", MaxResultBytes-len(twin)), twin},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseResult(*post().Result, []byte(tt.stdout))
			if string(got) != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("ParseResult(%.200q) = %s, %v, want %s", tt.stdout, got, err, tt.want)
			}
		})
	}
}

func TestResultErrorsDoNotQuoteOutput(t *testing.T) {
	for _, stdout := range []string{
		"secret", `{"secret":1}`, `{"id":"secret!"}`, `{"id":secret}`, `{"state":"secret"}`, `{"status":77777}`, `{} secret`, `{"id" secret`,
	} {
		_, err := ParseResult(*post().Result, []byte(stdout))
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "77777") {
			t.Errorf("ParseResult(%q) = %v, want an error without the output", stdout, err)
		}
	}
}

func FuzzParseResult(f *testing.F) {
	f.Add([]byte(`{"id":"a-1","ok":true,"state":"done","status":200}` + "\n"))
	f.Add([]byte(` { "status" : 100 , "state" : "\u00fc" , "ok" : false , "id" : "\u0061" } `))
	f.Add([]byte(`{"id":"a","id":"b","ok":true,"state":"done","status":2e2}`))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		schema := *post().Result
		got, err := ParseResult(schema, stdout)
		if err != nil {
			return
		}
		if !json.Valid(stdout) {
			t.Errorf("ParseResult(%q) accepts what is not JSON", stdout)
		}
		again, err := ParseResult(schema, got)
		if err != nil || string(again) != string(got) {
			t.Errorf("ParseResult(%s) = %s, %v, want the same again", got, again, err)
		}
		var loose map[string]any
		if err := json.Unmarshal(stdout, &loose); err != nil || len(loose) != len(schema.Fields) {
			t.Errorf("ParseResult(%q) = %s, encoding/json reads %v, %v", stdout, got, loose, err)
		}
	})
}
