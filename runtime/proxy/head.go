package proxy

import (
	"fmt"
	"net/textproto"
	"strconv"
	"strings"
)

// headScanner finds the end of a head, byte by byte, and refuses bytes that no head
// has. Lines end in CR LF: a bare one is a line's end to some readers and none to
// others (RFC 9112, section 2.2).
type headScanner struct {
	at   int // scanned so far
	line int // where the line began
}

// scan looks at the bytes of data not seen yet. It returns the length of the head,
// with the empty line, or 0 if it goes on.
func (s *headScanner) scan(data []byte) (int, error) {
	for ; s.at < len(data); s.at++ {
		switch c := data[s.at]; {
		case c == '\r':
			if s.at+1 == len(data) {
				return 0, nil
			}
			if data[s.at+1] != '\n' {
				return 0, malformed("the head has a CR that ends no line")
			}
			if s.at == s.line {
				if s.line == 0 {
					return 0, malformed("the head begins with an empty line")
				}
				return s.at + 2, nil
			}
			s.at++
			s.line = s.at + 1
		case c == '\n':
			return 0, malformed("the head has a line that ends in LF without CR")
		case c < ' ' && c != '\t' || c == 0x7f:
			return 0, malformed("the head has the control character %#02x", c)
		}
	}
	return 0, nil
}

// head is the head of a request, read strictly.
type head struct {
	method string
	target string
	minor  int // of the version, HTTP/1.0 or HTTP/1.1
	fields []field

	host       string // the value of the one Host field
	hasHost    bool
	length     int64 // of the body; -1: chunked
	connection []string
}

type field struct{ name, value string }

// parseHead reads what input.head returned. Its errors are refusals, in which what
// the client wrote is not repeated.
func parseHead(data []byte) (*head, *refusal) {
	text := strings.TrimSuffix(string(data), "\r\n\r\n")
	line, rest, _ := strings.Cut(text, "\r\n")
	h := &head{}
	if r := h.parseRequestLine(line); r != nil {
		return nil, r
	}
	h.fields = make([]field, 0, strings.Count(rest, "\r\n")+1)
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\r\n")
		f, err := parseField(line)
		if err != nil {
			return nil, malformed("%v", err)
		}
		h.fields = append(h.fields, f)
	}
	if r := h.parseFraming(); r != nil {
		return nil, r
	}
	return h, nil
}

func (h *head) parseRequestLine(line string) *refusal {
	if strings.IndexByte(line, '\t') >= 0 {
		return malformed("the request line has a tab")
	}
	var version string
	var ok bool
	if h.method, line, ok = strings.Cut(line, " "); !ok || !isToken(h.method) {
		return malformed("the request line does not begin with a method and a space")
	}
	if h.target, version, ok = strings.Cut(line, " "); !ok || h.target == "" {
		return malformed("the request line is not METHOD TARGET HTTP/1.1 with single spaces")
	}
	switch version {
	case "HTTP/1.1":
		h.minor = 1
	case "HTTP/1.0":
	default:
		return malformed("the request line does not end in HTTP/1.0 or HTTP/1.1")
	}
	for i := range len(h.target) {
		if h.target[i] >= 0x80 {
			return malformed("the request target has a byte outside ASCII")
		}
	}
	return nil
}

// parseField reads one line of fields (RFC 9112, section 5), with no control
// characters left in it.
func parseField(line string) (field, error) {
	if line[0] == ' ' || line[0] == '\t' {
		return field{}, fmt.Errorf("a field is folded over two lines")
	}
	name, value, ok := strings.Cut(line, ":")
	switch {
	case !ok:
		return field{}, fmt.Errorf("a field has no colon")
	case !isToken(name):
		return field{}, fmt.Errorf("the name of a field is no token")
	}
	return field{textproto.CanonicalMIMEHeaderKey(name), strings.Trim(value, " \t")}, nil
}

// parseFraming reads the fields that say where the message ends and whose it is.
// What two readers could understand in two ways is refused (RFC 9112, sections 3.2,
// 6.1, 6.3 and 11.2).
func (h *head) parseFraming() *refusal {
	lengths, encodings := 0, 0
	for _, f := range h.fields {
		switch f.name {
		case "Host":
			if h.hasHost {
				return malformed("there is more than one Host")
			}
			h.host, h.hasHost = f.value, true
		case "Content-Length":
			n, err := strconv.ParseUint(f.value, 10, 62)
			if err != nil {
				return malformed("Content-Length is no number")
			}
			if lengths > 0 && int64(n) != h.length {
				return malformed("there are two Content-Length that differ")
			}
			h.length = int64(n)
			lengths++
		case "Transfer-Encoding":
			if encodings > 0 || !strings.EqualFold(f.value, "chunked") {
				return malformed("Transfer-Encoding is not chunked, once")
			}
			encodings++
		case "Connection":
			for token := range strings.SplitSeq(f.value, ",") {
				token = textproto.CanonicalMIMEHeaderKey(strings.Trim(token, " \t"))
				switch token {
				case "":
					continue
				case "Host", "Content-Length", "Transfer-Encoding":
					return malformed("Connection names %s, which is for the whole way", token)
				}
				h.connection = append(h.connection, token)
			}
		}
	}
	switch {
	case h.minor == 1 && !h.hasHost:
		return malformed("there is no Host")
	case encodings > 0 && lengths > 0:
		return malformed("there are both Content-Length and Transfer-Encoding")
	case encodings > 0 && h.minor == 0:
		return malformed("there is Transfer-Encoding in HTTP/1.0")
	case encodings > 0:
		h.length = -1
	}
	return nil
}

// value is the value of the first field of that canonical name.
func (h *head) value(name string) string {
	for _, f := range h.fields {
		if f.name == name {
			return f.value
		}
	}
	return ""
}

// asks reports whether Connection has the token, in canonical form.
func (h *head) asks(token string) bool {
	for _, t := range h.connection {
		if t == token {
			return true
		}
	}
	return false
}

// isToken reports whether s is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}
