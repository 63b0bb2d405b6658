package outbound_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"weir/outbound"
	"weir/webhook"
)

// rawServer answers connections with a script, so that a test sees every
// request that arrives, whatever net/http makes of the answer.
type rawServer struct {
	listener net.Listener
	requests atomic.Int64
	conns    sync.Map // of net.Conn
	group    sync.WaitGroup
}

// answerRaw is called for each request with its number, from 1. What it
// returns is written, and the connection is closed when it returns "".
type answerRaw func(number int64) string

func newRawServer(t *testing.T, answer answerRaw) *rawServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{listener: listener}
	s.start(t, func(conn net.Conn) { s.serve(conn, answer) })
	return s
}

// start serves connections until the test ends, and closes them then.
func (s *rawServer) start(t *testing.T, serve func(net.Conn)) {
	s.group.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.conns.Store(conn, true)
			s.group.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		s.listener.Close()
		s.conns.Range(func(conn, _ any) bool {
			conn.(net.Conn).Close()
			return true
		})
		s.group.Wait()
	})
}

func (s *rawServer) serve(conn net.Conn, answer answerRaw) {
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		text := answer(s.requests.Add(1))
		if text == "" {
			return
		}
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
	}
}

func (s *rawServer) url() string { return "http://" + s.listener.Addr().String() }

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// A connection that is kept and then breaks under the next request is the one
// case in which net/http would send a POST again by itself, because of its
// Idempotency-Key.
func TestARequestThatArrivedIsNotSentAgainWithinAnAttempt(t *testing.T) {
	for name, keys := range map[string]http.Header{
		"our own key":          nil,
		"the sender's key":     {"Idempotency-Key": {"k1"}},
		"the other spelling":   {"X-Idempotency-Key": {"k1"}},
		"both":                 {"Idempotency-Key": {"k1"}, "X-Idempotency-Key": {"k2"}},
		"not canonical at all": {"idempotency-key": {"k1"}},
	} {
		for _, body := range []string{`{"a":1}`, ""} {
			t.Run(name+" "+body, func(t *testing.T) {
				server := newRawServer(t, func(number int64) string {
					if number == 1 {
						return okAnswer
					}
					return "" // read the request, then hang up
				})
				c := client(t, outbound.Config{URL: server.url()})
				work := job(body)
				for name, values := range keys {
					work.Event.Header[name] = values
				}
				if answer := c.Send(context.Background(), work); answer.Outcome != webhook.OutcomeDelivered {
					t.Fatalf("first answer %+v", answer)
				}
				answer := c.Send(context.Background(), work)
				if answer.Outcome != webhook.OutcomeNetwork || answer.Rule != outbound.RuleEOF && answer.Rule != outbound.RuleReset {
					t.Errorf("answer %+v, want a broken connection", answer)
				}
				if got := server.requests.Load(); got != 2 {
					t.Errorf("%d requests arrived for two attempts", got)
				}
			})
		}
	}
}

// closeSignal tells when a connection has been closed by its owner.
type closeSignal struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *closeSignal) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}

func TestAConnectionClosedWhileIdleCostsNoAttempt(t *testing.T) {
	server := newRawServer(t, func(number int64) string { return okAnswer })
	var conns []*closeSignal
	c := client(t, outbound.Config{URL: server.url(), Concurrency: 1,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			signal := &closeSignal{Conn: conn, closed: make(chan struct{})}
			conns = append(conns, signal)
			return signal, nil
		}})
	for i := range 3 {
		if answer := c.Send(context.Background(), job("x")); answer.Outcome != webhook.OutcomeDelivered {
			t.Fatalf("answer %d: %+v", i+1, answer)
		}
		last := conns[len(conns)-1]
		last.Conn.(*net.TCPConn).CloseRead() // as if the server had closed
		<-last.closed                        // the client has noticed
	}
	if got := server.requests.Load(); got != 3 || len(conns) != 3 {
		t.Errorf("%d requests over %d connections, want 3 over 3", got, len(conns))
	}
}

// brokenConn takes the first request; later writes take so many bytes and fail.
type brokenConn struct {
	net.Conn
	broken atomic.Bool
	takes  int
}

func (c *brokenConn) Write(p []byte) (int, error) {
	if !c.broken.Load() {
		return c.Conn.Write(p)
	}
	n, _ := c.Conn.Write(p[:c.takes])
	return n, syscall.EPIPE
}

func TestAWriteThatFailsGoesAgainOnlyIfNothingLeft(t *testing.T) {
	for name, test := range map[string]struct {
		takes   int
		outcome webhook.Outcome
		dials   int
	}{
		"nothing":  {0, webhook.OutcomeDelivered, 2},
		"one byte": {1, webhook.OutcomeNetwork, 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := newRawServer(t, func(int64) string { return okAnswer })
			var dialled []*brokenConn
			c := client(t, outbound.Config{URL: server.url(),
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					dialled = append(dialled, &brokenConn{Conn: conn, takes: test.takes})
					return dialled[len(dialled)-1], err
				}})
			if answer := c.Send(context.Background(), job("x")); answer.Outcome != webhook.OutcomeDelivered {
				t.Fatalf("answer %+v", answer)
			}
			dialled[0].broken.Store(true)
			if answer := c.Send(context.Background(), job("x")); answer.Outcome != test.outcome {
				t.Errorf("answer %+v, want %s", answer, test.outcome)
			}
			if len(dialled) != test.dials {
				t.Errorf("%d connections, want %d", len(dialled), test.dials)
			}
		})
	}
}
