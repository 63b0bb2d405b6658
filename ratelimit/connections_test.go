package ratelimit

import (
	"errors"
	"net"
	"testing"
)

// remote is a connection from an address.
type remote struct {
	net.Conn
	from string
}

func (r remote) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(r.from), Port: 1}
}
func (remote) Close() error { return nil }

// admitted returns how many of so many connections from an address are let in.
func admitted(c *Connections, from string, many int) (list []net.Conn) {
	for range many {
		if conn, ok := c.admit(remote{from: from}); ok {
			list = append(list, conn)
		}
	}
	return list
}

func TestConnectionsOfABlockAreBoundedUnlessItIsVerified(t *testing.T) {
	failures := NewFailureLimiter(thirty)
	c := NewConnections(failures, func(error) {})
	if got := len(admitted(c, "203.0.113.1", 2000)); got != maxBlockConnections {
		t.Errorf("%d connections of one block, want %d", got, maxBlockConnections)
	}
	if got := len(admitted(c, "2001:db8::1", 100)) + len(admitted(c, "2001:db8::2", 100)); got != maxBlockConnections {
		t.Errorf("%d connections of one /64, want %d", got, maxBlockConnections)
	}
	failures.Verified(from("203.0.113.9"))
	if got := len(admitted(c, "203.0.113.9", 500)); got != 500 {
		t.Errorf("%d connections of a verified block, want all", got)
	}
}

func TestAllConnectionsAreBoundedAndVerifiedOnesComeIn(t *testing.T) {
	failures := NewFailureLimiter(thirty)
	c := NewConnections(failures, func(error) {})
	open := admitted(c, "10.0.0.1", 2000)
	if len(open) != maxConnections {
		t.Errorf("%d connections in all, want %d", len(open), maxConnections)
	}
	if len(admitted(c, "203.0.113.1", 1)) != 0 {
		t.Error("one more comes in")
	}
	failures.Verified(from("203.0.113.9"))
	if len(admitted(c, "203.0.113.9", 1)) != 1 {
		t.Error("a verified sender is kept out by strangers")
	}
	for _, conn := range open {
		conn.Close()
		conn.Close() // counts once
	}
	if got := len(admitted(c, "203.0.113.1", 1)); got != 1 || c.byBlock["\x0a\x00\x00\x01"] != 0 {
		t.Errorf("closed connections are still counted: %d, %v", got, c.byBlock)
	}
}

// failing is a listener that has no file descriptors left.
type failing struct{ net.Listener }

var errFiles = errors.New("too many open files")

func (failing) Accept() (net.Conn, error) { return nil, errFiles }

func TestAFaultOfAcceptingIsReported(t *testing.T) {
	var told error
	c := NewConnections(NewFailureLimiter(thirty), func(err error) { told = err })
	if _, err := c.Listener(failing{}).Accept(); !errors.Is(err, errFiles) || !errors.Is(told, errFiles) {
		t.Errorf("returned %v, told %v", err, told)
	}
}
