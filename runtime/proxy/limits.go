package proxy

import (
	"math"
	"time"
)

// Limits bounds what clients, and servers, can cost. A zero means the default.
type Limits struct {
	Connections int           // at once; more are refused with 503. Default 1,024
	HeaderBytes int           // of a request line and its fields, or of a ClientHello. Default 16 KiB
	HeaderTime  time.Duration // for all of these, from the first byte on; for the first byte of a connection. Default 10 s
	DialTime    time.Duration // to resolve a name and connect to one of its addresses. Default 30 s
	Idle        time.Duration // without a byte in either direction. Default 10 min
	Total       time.Duration // of a connection. Default 24 h
	Requests    int           // of one connection. Default 100,000
	Sent        int64         // bytes from a client in one connection; of bodies, where there are requests. Default: none
	Received    int64         // bytes for a client, counted alike. Default: none
}

func (l Limits) orDefaults() Limits {
	orDefault(&l.Connections, 1024)
	orDefault(&l.HeaderBytes, 16<<10)
	orDefault(&l.HeaderTime, 10*time.Second)
	orDefault(&l.DialTime, 30*time.Second)
	orDefault(&l.Idle, 10*time.Minute)
	orDefault(&l.Total, 24*time.Hour)
	orDefault(&l.Requests, 100_000)
	orDefault(&l.Sent, math.MaxInt64)
	orDefault(&l.Received, math.MaxInt64)
	return l
}

func orDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
