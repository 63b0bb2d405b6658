package handler

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/webhook"
)

// listen serves a house on a loopback socket and returns its address.
func listen(t *testing.T, h http.Handler) string {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// dial connects as plainly as a client can.
func dial(t *testing.T, address string) net.Conn {
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return connection
}

// readAnswer reads one answer with its body.
func readAnswer(t *testing.T, from io.Reader) (*http.Response, string) {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(from), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("answer broke off: %v", err)
	}
	_ = answer.Body.Close()
	return answer, string(body)
}

const headFormat = "POST /hooks/github HTTP/1.1\r\nHost: weir\r\nX-Signature: valid\r\nX-Delivery: k\r\n%s\r\n"

// TestB73TooLargeIsReadable sends everything before it reads a byte, as simple
// clients do.
func TestB73TooLargeIsReadable(t *testing.T) {
	const limit = 1 << 20
	for _, size := range []int{limit, limit + 1, 10 * limit} {
		for _, form := range []string{"declared", "chunked"} {
			t.Run(fmt.Sprint(size, " ", form), func(t *testing.T) {
				h := newHouse(t, func(c *Config) { setLimit(c, limit) })
				connection := dial(t, listen(t, h))
				sendBody(t, connection, size, form)
				answer, body := readAnswer(t, connection)
				if size <= limit {
					if answer.StatusCode != http.StatusOK || len(h.engine.stored()[0].Event.Body) != size {
						t.Fatalf("status %d", answer.StatusCode)
					}
					return
				}
				if answer.StatusCode != http.StatusRequestEntityTooLarge {
					t.Fatalf("status %d", answer.StatusCode)
				}
				checkProblem(t, answer.Header, []byte(body), problem{Status: 413, Code: "too_large"})
				if len(h.engine.stored()) != 0 || h.last().Result != webhook.ResultTooLarge {
					t.Error("stored, or not counted")
				}
			})
		}
	}
}

func setLimit(c *Config, limit int64) {
	source := c.Sources["github"]
	source.MaxBody = limit
	c.Sources["github"] = source
}

func sendBody(t *testing.T, connection net.Conn, size int, form string) {
	t.Helper()
	body := bytes.Repeat([]byte("x"), size)
	if form == "declared" {
		fmt.Fprintf(connection, headFormat, fmt.Sprintf("Content-Length: %d\r\n", size))
	} else {
		fmt.Fprintf(connection, headFormat, "Transfer-Encoding: chunked\r\n")
		body = fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", size, body)
	}
	if _, err := connection.Write(body); err != nil {
		t.Fatalf("the sender could not send: %v", err)
	}
}

// TestB73DeclaredLengthIsRefusedUnread answers before a byte of the body came.
func TestB73DeclaredLengthIsRefusedUnread(t *testing.T) {
	h := newHouse(t, nil)
	connection := dial(t, listen(t, h))
	fmt.Fprintf(connection, headFormat, "Content-Length: 100000000000\r\n")
	answer, _ := readAnswer(t, connection)
	if answer.StatusCode != http.StatusRequestEntityTooLarge || h.last().Bytes != 0 {
		t.Errorf("status %d after %d bytes", answer.StatusCode, h.last().Bytes)
	}
}

func TestRefusedRequestIsNotAskedForItsBody(t *testing.T) {
	h := newHouse(t, nil)
	for _, test := range []struct{ path, length, want string }{
		{"/hooks/github", "5000", "HTTP/1.1 413"},
		{"/hooks/nobody", "5", "HTTP/1.1 404"},
		{"/hooks/github", "5", "HTTP/1.1 100 Continue"},
	} {
		connection := dial(t, listen(t, h))
		fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: weir\r\nX-Signature: valid\r\nExpect: 100-continue\r\nContent-Length: %s\r\n\r\n", test.path, test.length)
		line, err := bufio.NewReader(connection).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, test.want) {
			t.Errorf("%s of %s: %q, %v; want %s", test.path, test.length, line, err, test.want)
		}
		_ = connection.Close()
	}
}

func TestHalfABodyIsNeverStored(t *testing.T) {
	for name, rest := range map[string]string{
		"declared": "Content-Length: 100\r\n\r\nhalf",
		"chunked":  "Transfer-Encoding: chunked\r\n\r\n64\r\nhalf",
		"no end":   "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		"no hex":   "Transfer-Encoding: chunked\r\n\r\nzz\r\nhalf\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, nil)
			connection := dial(t, listen(t, h))
			fmt.Fprint(connection, strings.TrimSuffix(fmt.Sprintf(headFormat, ""), "\r\n")+rest)
			if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			answer, body := readAnswer(t, connection)
			if answer.StatusCode != http.StatusBadRequest || len(h.engine.stored()) != 0 {
				t.Fatalf("status %d, %d stored", answer.StatusCode, len(h.engine.stored()))
			}
			checkProblem(t, answer.Header, []byte(body), problem{Status: 400, Code: "malformed"})
		})
	}
}

func TestB3SenderGoesAwayBeforeTheAnswer(t *testing.T) {
	h := newHouse(t, nil)
	gone := make(chan struct{})
	done := make(chan error, 1)
	h.engine.during = func(ctx context.Context) error {
		<-gone
		done <- ctx.Err()
		return ctx.Err()
	}
	connection := dial(t, listen(t, h))
	fmt.Fprintf(connection, headFormat+"x", "Content-Length: 1\r\n")
	_ = connection.Close()
	close(gone)
	if err := <-done; err != nil {
		t.Fatalf("storing was cancelled: %v", err)
	}
}

// TestB74SlowBodiesEnd holds many connections open with bodies that never end;
// meanwhile others are served, and the slow ones end within their time.
func TestB74SlowBodiesEnd(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.BodyTimeout = 300 * time.Millisecond })
	address := listen(t, h)
	var slow []net.Conn
	for range 100 {
		connection := dial(t, address)
		fmt.Fprintf(connection, headFormat+"x", "Content-Length: 900\r\n")
		slow = append(slow, connection)
	}
	quick := dial(t, address)
	fmt.Fprintf(quick, headFormat+"x", "Content-Length: 1\r\n")
	if answer, _ := readAnswer(t, quick); answer.StatusCode != http.StatusOK {
		t.Errorf("a normal sender got %d", answer.StatusCode)
	}
	for _, connection := range slow {
		answer, _ := readAnswer(t, connection)
		if answer.StatusCode != http.StatusBadRequest {
			t.Fatalf("status %d", answer.StatusCode)
		}
	}
	if got := len(h.engine.stored()); got != 1 {
		t.Errorf("%d stored, want 1", got)
	}
}

// TestASlowCommitIsNotCutByTheBodysDeadline keeps the body's deadline from
// ending the connection while the event is being stored.
func TestASlowCommitIsNotCutByTheBodysDeadline(t *testing.T) {
	const bound = 20 * time.Millisecond
	h := newHouse(t, func(c *Config) { c.BodyTimeout = bound })
	h.engine.during = func(context.Context) error {
		<-time.After(3 * bound)
		return nil
	}
	connection := dial(t, listen(t, h))
	reader := bufio.NewReader(connection)
	for range 2 {
		fmt.Fprintf(connection, headFormat+"x", "Content-Length: 1\r\n")
		answer, err := http.ReadResponse(reader, nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", answer, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

func TestConnectionIsKeptAfterARefusal(t *testing.T) {
	h := newHouse(t, nil)
	connection := dial(t, listen(t, h))
	reader := bufio.NewReader(connection)
	for range 3 {
		fmt.Fprint(connection, "POST /hooks/nobody HTTP/1.1\r\nHost: weir\r\nContent-Length: 4\r\n\r\nbody")
		answer, err := http.ReadResponse(reader, nil)
		if err != nil || answer.StatusCode != http.StatusNotFound {
			t.Fatalf("%v, %v", answer, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

func TestChunksTrailersAndOddBytesAreFine(t *testing.T) {
	h := newHouse(t, nil)
	connection := dial(t, listen(t, h))
	fmt.Fprintf(connection, headFormat, "X-Odd: caf\xe9 \xff\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n")
	fmt.Fprint(connection, "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n")
	answer, _ := readAnswer(t, connection)
	if answer.StatusCode != http.StatusOK || string(h.engine.stored()[0].Event.Body) != "abcde" {
		t.Fatalf("status %d, stored %q", answer.StatusCode, h.engine.stored()[0].Event.Body)
	}
}

// room is a Bytes that remembers its peak.
type room struct {
	most, used, peak atomic.Int64
}

func (b *room) Acquire(n int64) bool {
	used := b.used.Add(n)
	if used > b.most.Load() {
		b.used.Add(-n)
		return false
	}
	for {
		peak := b.peak.Load()
		if used <= peak || b.peak.CompareAndSwap(peak, used) {
			return true
		}
	}
}

// one is the room of one body.
type one struct {
	of  *room
	own int64
}

func (o *one) Acquire(n int64) bool {
	if !o.of.Acquire(n) {
		return false
	}
	o.own += n
	return true
}

func (o *one) Release() {
	o.of.used.Add(-o.own)
	o.own = 0
}

func TestBodiesInFlightAreBounded(t *testing.T) {
	const limit = 1 << 20
	bytes := &room{}
	bytes.most.Store(3 * limit)
	h := newHouse(t, func(c *Config) { setLimit(c, limit); c.Room = func(context.Context) Room { return &one{of: bytes} } })
	body := strings.Repeat("x", limit)
	var group sync.WaitGroup
	var refused atomic.Int64
	full := make(chan struct{})
	h.engine.during = func(context.Context) error {
		<-full
		return errors.New("not now")
	}
	for range 10 {
		group.Go(func() {
			answer := h.do("POST /hooks/github", body, "X-Signature: valid")
			if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
				t.Errorf("status %d", answer.Code)
			}
			if refused.Add(1) == 7 {
				// Three have found room and wait; the rest is answered.
				close(full)
			}
		})
	}
	group.Wait()
	// How much of the room is filled depends on who came in between whom.
	if peak := bytes.peak.Load(); peak > 3*limit || peak < limit {
		t.Errorf("peak %d", peak)
	}
	if used := bytes.used.Load(); used != 0 {
		t.Errorf("%d bytes were not given back", used)
	}
}

// TestAnnouncedBytesAreNotReserved: announcing much must cost as much as
// sending it.
func TestAnnouncedBytesAreNotReserved(t *testing.T) {
	bytes := &room{}
	bytes.most.Store(1 << 20)
	b := &buffer{room: &one{of: bytes}, progress: func(int) {}}
	err := b.fill(io.MultiReader(strings.NewReader("little"), brokenReader{}), 900<<10, 1<<20)
	if !errors.Is(err, errBroken) || bytes.peak.Load() > firstBuffer {
		t.Errorf("%v with %d bytes", err, bytes.peak.Load())
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
