package outbound

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// phase is how far a request has come.
type phase int32

const (
	waiting phase = iota // for a connection
	resolving
	connecting
	shaking // hands, by TLS
	writing
	answering // the request is out, the answer is awaited
)

// progress follows one sending of a request: to name the phase that a timeout
// hit, and to know whether a broken connection has carried any of it. The
// hooks run on other goroutines.
type progress struct {
	phase atomic.Int32
	// conns counts the connections that were asked for.
	conns atomic.Int32
	// used is the HTTP/1.1 connection, kept from an earlier request, that
	// was given to this one after it had carried before bytes.
	used   atomic.Pointer[countedConn]
	before atomic.Int64
	// again is called when net/http itself turns to a further connection.
	again func()
}

// watch returns a context whose request reports to p.
func (p *progress) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			if p.conns.Add(1) > 1 {
				p.again()
			}
		},
		DNSStart:          func(httptrace.DNSStartInfo) { p.enter(resolving) },
		ConnectStart:      func(string, string) { p.enter(connecting) },
		TLSHandshakeStart: func() { p.enter(shaking) },
		GotConn:           p.got,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				p.enter(answering)
			}
		},
	})
}

func (p *progress) enter(next phase) { p.phase.Store(int32(next)) }

// got notes the connection that the request will use.
func (p *progress) got(info httptrace.GotConnInfo) {
	p.enter(writing)
	p.used.Store(nil)
	conn := info.Conn
	if secure, ok := conn.(*tls.Conn); ok {
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			return // shared with other requests: bytes tell nothing
		}
		conn = secure.NetConn()
	}
	if counted, ok := conn.(*countedConn); ok && info.Reused {
		p.before.Store(counted.written.Load())
		p.used.Store(counted)
	}
}

// untouched reports that the request never reached the server: it was given a
// connection that was kept idle and had been closed, and not one byte was
// written to it.
func (p *progress) untouched() bool {
	conn := p.used.Load()
	return conn != nil && conn.written.Load() == p.before.Load()
}

// unprocessed reports that the server has declared by GOAWAY or REFUSED_STREAM
// not to have processed the request (RFC 9113 sections 6.8 and 8.7). net/http
// wraps these two in a text of its own when it cannot rewind the body; it
// treats PROTOCOL_ERROR alike, which promises nothing and is no reason here.
func unprocessed(err error) bool {
	text := err.Error()
	return strings.Contains(text, "cannot retry err [") &&
		(strings.Contains(text, "graceful shutdown GOAWAY") || strings.Contains(text, "REFUSED_STREAM"))
}

// countedConn counts the bytes that were written to a connection.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

// Write counts before it writes and takes back what was refused: at no time is
// a byte that may have left not counted.
func (c *countedConn) Write(p []byte) (int, error) {
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}
