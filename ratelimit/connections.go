package ratelimit

import (
	"errors"
	"net"
	"net/netip"
	"sync"
)

const (
	// maxConnections is how many connections callers that were not verified
	// lately may have open together.
	maxConnections = 1024
	// maxBlockConnections is how many of them each address block may have; of
	// private addresses, behind which many may be, all. Verified blocks have no
	// such limit.
	maxBlockConnections = 128
)

// Connections bounds the open connections of a listener, so that half-sent
// requests cannot fill the memory. What is over a bound is closed at once.
type Connections struct {
	failures *FailureLimiter
	onFault  func(error)

	mu      sync.Mutex // guards what is below
	open    int
	byBlock map[string]int
}

// NewConnections returns Connections that know from failures who was verified.
// OnFault is called with each error of accepting a connection, such as that no
// file descriptor is left; it must not block.
func NewConnections(failures *FailureLimiter, onFault func(error)) *Connections {
	return &Connections{failures: failures, onFault: onFault, byBlock: map[string]int{}}
}

// Listener returns a listener with the bounds.
func (c *Connections) Listener(of net.Listener) net.Listener { return &boundedListener{of, c} }

type boundedListener struct {
	net.Listener
	bounds *Connections
}

// Accept returns the next connection that is within the bounds.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.bounds.onFault(err)
			}
			return nil, err
		}
		counted, ok := l.bounds.admit(conn)
		if ok {
			return counted, nil
		}
		conn.Close()
	}
}

// admit counts a connection, or reports false when it is one too many.
func (c *Connections) admit(conn net.Conn) (net.Conn, bool) {
	caller := Caller{Addr: peerAddress(conn)}
	if !caller.Addr.IsValid() {
		return conn, true // not of a network: a test's
	}
	key := caller.key()
	known := c.failures.knows(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	most := maxBlockConnections
	if inside(caller.Addr) {
		most = maxConnections
	}
	if !known && (c.open >= maxConnections || c.byBlock[key] >= most) {
		return nil, false
	}
	c.open++
	c.byBlock[key]++
	return &countedConn{Conn: conn, bounds: c, key: key}, true
}

// peerAddress returns the address of the other end.
func peerAddress(conn net.Conn) netip.Addr {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	addr, _ := netip.AddrFromSlice(tcp.IP)
	return addr.Unmap()
}

type countedConn struct {
	net.Conn
	bounds *Connections
	key    string
	once   sync.Once
}

// CloseWrite ends our side alone: net/http does so that a client which still
// sends can read its answer.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection and uncounts it.
func (c *countedConn) Close() error {
	c.once.Do(func() {
		c.bounds.mu.Lock()
		defer c.bounds.mu.Unlock()
		c.bounds.open--
		if c.bounds.byBlock[c.key]--; c.bounds.byBlock[c.key] <= 0 {
			delete(c.bounds.byBlock, c.key)
		}
	})
	return c.Conn.Close()
}
