// Package memorynet is a network without sockets, for tests.
//
// # Guarantees
//
// Connections are pipes in memory. A goroutine that waits on one is durably
// blocked, so that the fake time of testing/synctest passes while everyone
// waits. Nothing leaves the process.
//
// # Example
//
//	network := memorynet.New()
//	listener, err := network.Listen(ctx, "tcp", "app:80")
//	client := &http.Client{Transport: &http.Transport{DialContext: network.Dial}}
package memorynet

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Net is a network without sockets: connections are pipes, so that fake
// time passes while everyone waits.
type Net struct {
	mu        sync.Mutex
	listeners map[string]*listener
}

// New returns a network in which nobody listens.
func New() *Net { return &Net{listeners: map[string]*listener{}} }

// Listen listens on an address, which may be any text.
func (n *Net) Listen(_ context.Context, _, address string) (net.Listener, error) {
	l := &listener{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[address] = l
	return l, nil
}

// Dial connects to whoever listens on the address.
func (n *Net) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("nobody listens on %s", address)
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, fmt.Errorf("nobody listens on %s any more", address)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	address string
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return addr(l.address) }

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }
