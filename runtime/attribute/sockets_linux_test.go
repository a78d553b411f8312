package attribute

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDiagAnswer: an answer counts only for the very socket that was asked about.
func TestDiagAnswer(t *testing.T) {
	own, peer := netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:3128")
	made := func(change func([]byte)) []byte {
		m := make([]byte, answerBytes)
		request := diagRequest(own, peer, 1)
		binary.NativeEndian.PutUint16(m[4:], byFamily)
		m[headerBytes], m[headerBytes+1] = unix.AF_INET, 1 // established
		copy(m[answerID:], request[requestID:requestID+sourceAt+2*addressBytes])
		binary.NativeEndian.PutUint32(m[answerInode:], 4711)
		change(m)
		return m
	}
	mapped := func(m []byte) {
		m[headerBytes] = unix.AF_INET6
		for _, at := range []int{sourceAt, sourceAt + addressBytes} {
			addr := netip.AddrFrom4([4]byte(m[answerID+at:])).As16()
			copy(m[answerID+at:], addr[:])
		}
	}
	for _, tt := range []struct {
		what   string
		change func([]byte)
		want   uint64
	}{
		{"the socket", func([]byte) {}, 4711},
		{"one of IPv6", func(m []byte) { mapped(m) }, 4711},
		{"a listener", func(m []byte) { m[headerBytes+1] = stateListen }, 0},
		{"another port", func(m []byte) { m[answerID]++ }, 0},
		{"another port of the peer", func(m []byte) { m[answerID+2]++ }, 0},
		{"another address", func(m []byte) { m[answerID+sourceAt+3]++ }, 0},
		{"another address of the peer", func(m []byte) { m[answerID+sourceAt+addressBytes+3]++ }, 0},
	} {
		if got, err := diagAnswer(made(tt.change), own, peer); err != nil || got != tt.want {
			t.Errorf("an answer about %s: %d, %v; want %d", tt.what, got, err, tt.want)
		}
	}
	for _, length := range []int{headerBytes, headerBytes + 4, answerBytes - 1} {
		if got, err := diagAnswer(made(func([]byte) {})[:length], own, peer); err == nil {
			t.Errorf("an answer of %d bytes: %d", length, got)
		}
	}
}

// TestListAddress: addresses as the lists of sockets have them, on this machine.
func TestListAddress(t *testing.T) {
	word := func(a, b, c, d byte) string {
		text := make([]byte, 4)
		binary.BigEndian.PutUint32(text, binary.NativeEndian.Uint32([]byte{a, b, c, d}))
		const digits = "0123456789ABCDEF"
		out := ""
		for _, c := range text {
			out += string([]byte{digits[c>>4], digits[c&15]})
		}
		return out
	}
	for text, want := range map[string]string{
		word(127, 0, 0, 1) + ":0C38": "127.0.0.1:3128",
		word(0, 0, 0, 0) + word(0, 0, 0, 0) + word(0, 0, 0xff, 0xff) + word(127, 0, 0, 1) + ":0050": "127.0.0.1:80",
		word(0, 0, 0, 0) + word(0, 0, 0, 0) + word(0, 0, 0, 0) + word(0, 0, 0, 1) + ":FFFF":         "[::1]:65535",
	} {
		if got, ok := listAddress(text); !ok || got.String() != want {
			t.Errorf("listAddress(%q) = %v, %v; want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", ":", "0100007F", "0100007:0C38", "0100007F:", "0100007F:10000", "0100007F0100007F:0C38", "xx00007F:0C38"} {
		if got, ok := listAddress(text); ok {
			t.Errorf("listAddress(%q) = %v", text, got)
		}
	}
}
