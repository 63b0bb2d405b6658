package flaky

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
)

// Naive is the loop that weir is compared with: it sends an event until the
// answer is 2xx, at once after each refusal, for ever. It has no delay, no cap
// and no deadline, and it reads nothing but the status. It is kept honest in
// one point: each of its workers waits for the answer before it sends again.
type Naive struct {
	// URL is where the events go.
	URL string
	// Client sends. It should keep a connection for each worker.
	Client *http.Client
	// Workers is how many requests may be out at once, 4 where unset.
	Workers int
}

// Webhook is an event for [Naive] to deliver.
type Webhook struct {
	// ID is sent as Weir-Event-Id, so that a [Server] can tell events apart.
	ID   string
	Body []byte
}

// Run delivers what comes from the channel until that is closed and everything
// is delivered, or until ctx ends. A refusal is what the loop is about and no
// error, so there is none to return; the [Server] that it sends to counts.
func (n *Naive) Run(ctx context.Context, events <-chan Webhook) {
	workers := n.Workers
	if workers <= 0 {
		workers = 4
	}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for event := range queue(ctx, events) {
				n.insist(ctx, event)
			}
		})
	}
	running.Wait()
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
func (n *Naive) insist(ctx context.Context, event Webhook) {
	for ctx.Err() == nil {
		if n.post(ctx, event) {
			return
		}
	}
}

// post sends one event and reports whether it was answered 2xx.
func (n *Naive) post(ctx context.Context, event Webhook) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(event.Body))
	if err != nil {
		return false
	}
	request.Header.Set("Weir-Event-Id", event.ID)
	response, err := n.Client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxEcho))
	return response.StatusCode/100 == 2
}
