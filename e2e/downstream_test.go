package e2e

import (
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// arrival is one request that a downstream has got.
type arrival struct {
	at      time.Time
	path    string
	host    string
	event   string // Weir-Event-Id
	key     string // Weir-Key
	attempt int    // Weir-Attempt
	// number counts the arrivals of this event, from 1.
	number  int
	digest  [sha256.Size]byte
	size    int64
	length  int64 // as declared, -1 without
	chunked bool
	header  http.Header
	// whole reports that the body came to its end.
	whole bool
}

// answering is what a downstream does to a request that it has read.
type answering func(w http.ResponseWriter, r *http.Request, a arrival)

// downstream is a server whose answers the test decides, and which remembers
// every request.
type downstream struct {
	url string

	mu       sync.Mutex
	arrivals []arrival
	opened   int
}

// newDownstream starts one. It ends with the test, after the services that
// were prepared later.
func newDownstream(t *testing.T, answer answering) *downstream {
	t.Helper()
	d := &downstream{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, d.note(r))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			d.mu.Lock()
			d.opened++
			d.mu.Unlock()
		}
	}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	d.url = server.URL
	return d
}

// note reads a request and remembers it.
func (d *downstream) note(r *http.Request) arrival {
	a := arrival{
		at: time.Now(), path: r.URL.Path, host: r.Host, length: r.ContentLength,
		event: r.Header.Get("Weir-Event-Id"), key: r.Header.Get("Weir-Key"),
		chunked: slices.Contains(r.TransferEncoding, "chunked"), header: r.Header.Clone(),
	}
	a.attempt, _ = strconv.Atoi(r.Header.Get("Weir-Attempt"))
	digest := sha256.New()
	var err error
	a.size, err = io.Copy(digest, r.Body)
	a.whole = err == nil || errors.Is(err, io.EOF)
	digest.Sum(a.digest[:0])
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, earlier := range d.arrivals {
		if earlier.event == a.event && earlier.path == a.path {
			a.number++
		}
	}
	a.number++
	d.arrivals = append(d.arrivals, a)
	return a
}

// seen returns all arrivals so far, in their order.
func (d *downstream) seen() []arrival {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.arrivals)
}

// where returns the arrivals that a condition holds for.
func (d *downstream) where(holds func(arrival) bool) []arrival {
	return slices.DeleteFunc(d.seen(), func(a arrival) bool { return !holds(a) })
}

// of returns the arrivals of one event.
func (d *downstream) of(event string) []arrival {
	return d.where(func(a arrival) bool { return a.event == event })
}

// at returns the arrivals at one path.
func (d *downstream) at(path string) []arrival {
	return d.where(func(a arrival) bool { return a.path == path })
}

// connections returns how many were ever opened.
func (d *downstream) connections() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened
}

// answers answers everything with one status.
func answers(status int) answering {
	return func(w http.ResponseWriter, _ *http.Request, _ arrival) { w.WriteHeader(status) }
}

// inTurn answers the arrivals of each event with these statuses in turn, and
// all further ones with the last.
func inTurn(statuses ...int) answering {
	return func(w http.ResponseWriter, _ *http.Request, a arrival) {
		w.WriteHeader(statuses[min(a.number, len(statuses))-1])
	}
}

// hang answers nothing until the client leaves.
func hang(_ http.ResponseWriter, r *http.Request, _ arrival) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// sameBody checks that arrivals carry these bytes, whole and with their
// length.
func sameBody(t *testing.T, arrivals []arrival, body string) {
	t.Helper()
	for _, a := range arrivals {
		if a.digest != sha256.Sum256([]byte(body)) || a.length != int64(len(body)) || a.chunked || !a.whole {
			t.Errorf("attempt %d of %s: %d bytes, declared %d, chunked %t, want the %d bytes that were received",
				a.attempt, a.event, a.size, a.length, a.chunked, len(body))
		}
	}
}
