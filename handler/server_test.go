package handler

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes, so that hours pass at once.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// connect returns the client's end of a new connection.
func (p *pipes) connect() net.Conn {
	client, server := net.Pipe()
	p.connections <- server
	return client
}

// inBubble serves a house over pipes while do runs.
func inBubble(t *testing.T, do func(t *testing.T, h *house, listener *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		server := NewServer(h, slog.New(slog.DiscardHandler))
		listener := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
		var group sync.WaitGroup
		group.Go(func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				t.Errorf("serving: %v", err)
			}
		})
		do(t, h, listener)
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		group.Wait()
	})
}

// trickle writes one byte at a time until the other end is closed.
func trickle(connection net.Conn, text string, pause time.Duration) {
	for _, c := range []byte(text) {
		<-time.After(pause)
		if _, err := connection.Write([]byte{c}); err != nil {
			return
		}
	}
}

func TestB74SlowHeadersAndBodiesEndInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house, listener *pipes) {
		start := time.Now()
		var group sync.WaitGroup
		for i := range 600 {
			connection := listener.connect()
			group.Go(func() {
				bound, pause, text := headerTimeout, 5*time.Second, "POST /hooks/github HTTP/1.1\r\nHost: weir\r\n"
				if i >= 500 {
					bound, pause, text = h.config.withDefaults().BodyTimeout, time.Second, strings.Repeat("x", 500)
					fmt.Fprintf(connection, headFormat, "Content-Length: 900\r\n")
				}
				group.Go(func() { trickle(connection, text, pause) })
				answers, _ := io.ReadAll(connection)
				_ = connection.Close()
				if n := strings.Count(string(answers), "HTTP/1.1 "); n > 1 {
					t.Errorf("connection %d: a body was taken for a request", i)
				}
				if took := time.Since(start); took > bound+lingerTime+time.Second {
					t.Errorf("connection %d held for %s", i, took)
				}
			})
		}
		<-time.After(time.Second)
		if took := roundTrip(t, listener.connect()); took > time.Second {
			t.Errorf("a normal sender waited %s", took)
		}
		group.Wait()
		if got := len(h.engine.stored()); got != 1 {
			t.Errorf("%d stored", got)
		}
	})
}

// roundTrip sends an event and hangs up.
func roundTrip(t *testing.T, connection net.Conn) time.Duration {
	t.Helper()
	start := time.Now()
	fmt.Fprintf(connection, headFormat+"x", "Content-Length: 1\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", answer, err)
	}
	took := time.Since(start)
	_ = answer.Body.Close()
	_ = connection.Close()
	return took
}

func TestB74IdleConnectionsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *house, listener *pipes) {
		connection := listener.connect()
		fmt.Fprint(connection, "GET /livez HTTP/1.1\r\nHost: weir\r\n\r\n")
		start := time.Now()
		if _, err := io.ReadAll(connection); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != idleTimeout {
			t.Errorf("held for %s", took)
		}
		_ = connection.Close()
	})
}

func TestB74LargeHeadersAre431(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *house, listener *pipes) {
		for size, status := range map[int]int{maxHeader - 2000: 200, 2 * maxHeader: 431} {
			connection := listener.connect()
			var group sync.WaitGroup
			group.Go(func() {
				fmt.Fprintf(connection, "GET /livez HTTP/1.1\r\nHost: weir\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", size))
			})
			answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
			if err != nil || answer.StatusCode != status {
				t.Errorf("%d bytes: %v, %v; want %d", size, answer, err, status)
			}
			_ = connection.Close()
			group.Wait()
		}
	})
}

// TestABodyThatNobodyReadsHoldsNoConnection: a refused client that goes on
// sending slowly is let go.
func TestABodyThatNobodyReadsHoldsNoConnection(t *testing.T) {
	for _, path := range []string{"/hooks/nobody", "/v1/redeliver", "/livez", "/hooks/github"} {
		inBubble(t, func(t *testing.T, _ *house, listener *pipes) {
			connection := listener.connect()
			start := time.Now()
			fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: weir\r\nContent-Length: 900\r\n\r\n", path)
			var group sync.WaitGroup
			group.Go(func() { trickle(connection, strings.Repeat("x", 500), time.Second) })
			answers, _ := io.ReadAll(connection)
			_ = connection.Close()
			group.Wait()
			if n := strings.Count(string(answers), "HTTP/1.1 "); n != 1 {
				t.Errorf("%s: %d answers to one request: %s", path, n, answers)
			}
			if took := time.Since(start); took > readTimeout+time.Second {
				t.Errorf("%s held the connection for %s", path, took)
			}
		})
	}
}
