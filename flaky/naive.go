package flaky

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// Naive is the loop that weir is compared with: it sends an event until the
// answer is 2xx, at once after each refusal, for ever. It has no delay, no cap
// and no deadline, and it reads nothing but the status. It is kept honest in
// one point: each of its workers waits for the answer before it sends again.
type Naive struct {
	// URL is where the events go.
	URL string
	// Client sends; nil is a client that keeps a connection per worker.
	Client *http.Client
	// Workers is how many requests may be out at once, 4 where unset.
	Workers int

	// mu guards the counts.
	mu    sync.Mutex
	count NaiveCount
	// minute is nil before the first request.
	minute *sliding
}

// Webhook is an event for [Naive] to deliver.
type Webhook struct {
	// ID is sent as Weir-Event-Id, so that a [Server] can tell events apart.
	ID   string
	Body []byte
}

// NaiveCount is what a [Naive] loop has done.
type NaiveCount struct {
	// Requests counts all of them, Refused those not answered 2xx, those
	// without any answer among them.
	Requests int
	Refused  int
	// Delivered counts the events that were answered 2xx, GivenUp those that
	// were being tried when the context ended.
	Delivered int
	GivenUp   int
	// WorstMinute is the most requests that any 60 seconds held.
	WorstMinute int
}

// Run delivers what comes from the channel until that is closed and everything
// is delivered, or until ctx ends. A refusal is what the loop is about and no
// error, so there is none to return: see [Naive.Count].
func (n *Naive) Run(ctx context.Context, events <-chan Webhook) {
	client, workers := n.client()
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for event := range queue(ctx, events) {
				n.insist(ctx, client, event)
			}
		})
	}
	running.Wait()
}

// Count returns the counts so far; it may be called while the loop runs.
func (n *Naive) Count() NaiveCount {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := n.count
	if n.minute != nil {
		count.WorstMinute = n.minute.worst
	}
	return count
}

func (n *Naive) client() (*http.Client, int) {
	workers := n.Workers
	if workers <= 0 {
		workers = 4
	}
	if n.Client != nil {
		return n.Client, workers
	}
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}, workers
}

// queue is the channel's events until ctx ends.
func queue(ctx context.Context, events <-chan Webhook) func(func(Webhook) bool) {
	return func(yield func(Webhook) bool) {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
				return
			case event, open := <-events:
				if !open || !yield(event) {
					return
				}
			}
		}
	}
}

// insist sends one event until it is accepted or ctx ends.
func (n *Naive) insist(ctx context.Context, client *http.Client, event Webhook) {
	for ctx.Err() == nil {
		n.sent(time.Now())
		if post(ctx, client, n.URL, event) {
			n.add(&n.count.Delivered)
			return
		}
		n.add(&n.count.Refused)
	}
	n.add(&n.count.GivenUp)
}

// sent counts a request at the moment it leaves.
func (n *Naive) sent(now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.minute == nil {
		n.minute = &sliding{per: time.Minute}
	}
	n.minute.add(now)
	n.count.Requests++
}

// add counts one more of something.
func (n *Naive) add(counter *int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*counter++
}

// post sends one event and reports whether it was answered 2xx.
func post(ctx context.Context, client *http.Client, url string, event Webhook) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(event.Body))
	if err != nil {
		return false
	}
	request.Header.Set("Weir-Event-Id", event.ID)
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, MaxEcho))
	return response.StatusCode/100 == 2
}
