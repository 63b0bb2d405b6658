package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
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
	// reused says that the HTTP/1.1 connection had carried a request before,
	// answered that a byte of an answer has come.
	reused, answered atomic.Bool
	// conn is the HTTP/1.1 connection without TLS that the request uses.
	conn atomic.Pointer[countedConn]
	// again is called when net/http itself turns to a further connection.
	again func()
	// mayLeave is asked before the first byte is written; forbidden says that it
	// said no, and forbid ends the request then.
	mayLeave  func() bool
	forbidden atomic.Bool
	forbid    func()
}

// watch returns a context whose request reports to p.
func (p *progress) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			if p.conns.Add(1) > 1 {
				p.again()
			}
		},
		GotFirstResponseByte: func() { p.answered.Store(true) },
		DNSStart:             func(httptrace.DNSStartInfo) { p.enter(resolving) },
		ConnectStart:         func(string, string) { p.enter(connecting) },
		TLSHandshakeStart:    func() { p.enter(shaking) },
		GotConn:              p.got,
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
	p.conn.Store(nil)
	conn := info.Conn
	if secure, ok := conn.(*tls.Conn); ok {
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			p.leaves() // shared with other requests: bytes tell nothing
			return
		}
		conn = secure.NetConn()
	}
	p.reused.Store(info.Reused)
	if plain, ok := info.Conn.(*countedConn); ok {
		plain.expect()
		p.conn.Store(plain)
	}
	counted, ok := conn.(*countedConn)
	if !ok {
		return
	}
	counted.guard.Store(&guard{p.leaves})
	if info.Reused {
		p.before.Store(counted.written.Load())
		p.used.Store(counted)
	}
}

// leaves reports whether the request may leave. What was forbidden once stays so.
func (p *progress) leaves() bool {
	if !p.forbidden.Load() && (p.mayLeave == nil || p.mayLeave()) {
		return true
	}
	p.forbidden.Store(true)
	p.forbid()
	return false
}

// untouched reports that the request never reached the server: it was given a
// connection that was kept idle and had been closed, and not one byte was
// written to it.
func (p *progress) untouched() bool {
	conn := p.used.Load()
	return conn != nil && conn.written.Load() == p.before.Load()
}

// raced reports that the downstream closed a kept connection as the request
// went out: it ended before the first byte of an answer.
func (p *progress) raced(err error) bool {
	if !p.reused.Load() || p.answered.Load() {
		return false
	}
	rule := faultOf(err).rule
	return rule == RuleReset || rule == RuleEOF
}

// accepted returns the status of a 2xx whose header section was too long to be
// read, where the connection shows it; 0 otherwise.
func (p *progress) accepted(err error) int {
	conn := p.conn.Load()
	if conn == nil || faultOf(err).rule != RuleHeaderTooLarge {
		return 0
	}
	return conn.status()
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

// countedConn counts the bytes that were written to a connection, and keeps
// the first that come back for a request.
type countedConn struct {
	net.Conn
	written atomic.Int64
	// guard is asked before the first byte of a request is written.
	guard atomic.Pointer[guard]
	mu    sync.Mutex
	// first is the beginning of what was read since the present request.
	first []byte
}

// guard says whether a request may leave.
type guard struct{ leaves func() bool }

// errForbidden ends a request that the gates have taken back.
var errForbidden = errors.New("the request was taken back before it left")

// statusLine is how much of an answer tells its status: "HTTP/1.1 200".
const statusLine = len("HTTP/1.1 200")

// expect begins to keep what comes back.
func (c *countedConn) expect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = c.first[:0]
}

// Read keeps the start of what it reads.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = append(c.first, p[:max(0, min(n, statusLine-len(c.first)))]...)
	return n, err
}

// status returns the status of a 2xx that was kept; 0 when there is none.
func (c *countedConn) status() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	code, found := strings.CutPrefix(string(c.first), "HTTP/1.1 ")
	status, err := strconv.Atoi(code)
	if !found || err != nil || status < 200 || status > 299 {
		return 0
	}
	return status
}

// Write counts before it writes and takes back what was refused: at no time is
// a byte that may have left not counted.
func (c *countedConn) Write(p []byte) (int, error) {
	if g := c.guard.Swap(nil); g != nil && !g.leaves() {
		return 0, errForbidden
	}
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}
