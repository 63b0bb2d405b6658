package outbound_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/outbound"
	"weir/webhook"
)

// countDials counts the connections that a client opens and has open.
type countDials struct {
	opened, open atomic.Int64
	most         atomic.Int64
}

func (d *countDials) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.opened.Add(1)
	now := d.open.Add(1)
	for most := d.most.Load(); now > most && !d.most.CompareAndSwap(most, now); most = d.most.Load() {
	}
	return &countedClose{Conn: conn, of: d}, nil
}

type countedClose struct {
	net.Conn
	of   *countDials
	once sync.Once
}

func (c *countedClose) Close() error {
	c.once.Do(func() { c.of.open.Add(-1) })
	return c.Conn.Close()
}

func TestB46AnEndlessAnswerIsReadToItsBound(t *testing.T) {
	var written atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := []byte(strings.Repeat("x", 32<<10))
		for written.Load() < 5<<30 {
			n, err := w.Write(chunk)
			written.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	answer := client(t, outbound.Config{URL: server.URL}).Send(context.Background(), job("x"))
	if answer.Outcome != webhook.OutcomeDelivered || len(answer.Evidence.Body) != 2<<10 || answer.Evidence.Note != "the body goes on" {
		t.Errorf("answer %+v", answer)
	}
	server.Close() // waits for the handler: the connection has been ended
	if got := written.Load(); got > 64<<20 {
		t.Errorf("%d bytes were taken off the server", got)
	}
}

func TestB46ConnectionsAreUsedAgain(t *testing.T) {
	const workers, each = 4, 500
	var requests atomic.Int64
	body := strings.Repeat("x", 10<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader([]int{200, 404, 500}[requests.Add(1)%3])
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	var dials countDials
	c := client(t, outbound.Config{URL: server.URL, Concurrency: workers, Dial: dials.dial})
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range each {
				if answer := c.Send(context.Background(), job("x")); answer.Status == 0 {
					t.Errorf("answer %+v", answer)
				}
			}
		})
	}
	group.Wait()
	if dials.most.Load() > workers || dials.opened.Load() > 2*workers {
		t.Errorf("%d connections were opened, %d at once, for %d workers", dials.opened.Load(), dials.most.Load(), workers)
	}
	if got := requests.Load(); got != workers*each {
		t.Errorf("%d requests for %d attempts", got, workers*each)
	}
}

func TestConnectionsAreBoundedByConcurrency(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	var dials countDials
	c := client(t, outbound.Config{URL: server.URL, Concurrency: 2, Dial: dials.dial})
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if answer := c.Send(context.Background(), job("x")); answer.Outcome != webhook.OutcomeDelivered {
				t.Errorf("answer %+v", answer)
			}
		})
	}
	group.Wait()
	if dials.most.Load() > 2 {
		t.Errorf("%d connections at once", dials.most.Load())
	}
}

func TestA421ClosesIdleConnections(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	var dials countDials
	c := client(t, outbound.Config{URL: server.URL, Dial: dials.dial})
	for i, step := range []struct {
		status int
		opened int64
	}{{200, 1}, {421, 1}, {200, 2}} {
		status = step.status
		c.Send(context.Background(), job("x"))
		if got := dials.opened.Load(); got != step.opened {
			t.Errorf("%d connections after request %d, want %d", got, i+1, step.opened)
		}
	}
}

func TestA101IsNoAcceptance(t *testing.T) {
	server := newRawServer(t, func(int64) string {
		return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
	})
	answer := client(t, outbound.Config{URL: server.url()}).Send(context.Background(), job("x"))
	if answer.Outcome != webhook.OutcomeMisdirected || answer.Status != 101 {
		t.Errorf("answer %+v", answer)
	}
}

func TestStatusesOutsideTheRange(t *testing.T) {
	for _, status := range []string{"000", "099", "600", "999"} {
		server := newRawServer(t, func(int64) string {
			return "HTTP/1.1 " + status + " Odd\r\nContent-Length: 0\r\n\r\n"
		})
		answer := client(t, outbound.Config{URL: server.url()}).Send(context.Background(), job("x"))
		if answer.Outcome != webhook.OutcomeTransient && answer.Outcome != webhook.OutcomeMisdirected {
			t.Errorf("%s is %+v", status, answer)
		}
	}
}

func TestAProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	var dialled string
	c := client(t, outbound.Config{URL: "http://hook.example", Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = address
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}})
	if answer := c.Send(context.Background(), job("x")); answer.Outcome != webhook.OutcomeDelivered || dialled != "hook.example:80" {
		t.Errorf("dialled %s: %+v", dialled, answer)
	}
}

func TestTheBodyOfA2xxMayBreakOff(t *testing.T) {
	server := newOnceServer(t, "HTTP/1.1 200 OK\r\nContent-Length: 512\r\n\r\n{\"received\":tr")
	answer := client(t, outbound.Config{URL: server.url()}).Send(context.Background(), job("x"))
	if answer.Outcome != webhook.OutcomeDelivered || answer.Evidence.Note != "the body broke off" {
		t.Errorf("answer %+v", answer)
	}
}
