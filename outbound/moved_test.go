package outbound_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"weir/outbound"
	"weir/webhook"
)

// TestADownstreamWhoseAddressChanges is found at the new one: names are looked
// up for each connection. If the news of the old connection's end and the next
// request cross, that costs one attempt, because nobody can know what arrived.
func TestADownstreamWhoseAddressChanges(t *testing.T) {
	var address atomic.Value
	serve := func(status int) *httptest.Server {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		address.Store(server.Listener.Addr().String())
		return server
	}
	client, err := outbound.New(outbound.Config{
		URL: "http://app.internal/hooks",
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address.Load().(string))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	job := webhook.Job{Event: webhook.Event{ID: webhook.ID{1}, Body: []byte("{}")}, Number: 1}
	old := serve(http.StatusAccepted)
	if answer := client.Send(t.Context(), job); answer.Status != http.StatusAccepted {
		t.Fatalf("at the old address: %+v", answer)
	}
	old.Close()
	moved := serve(http.StatusCreated)
	defer moved.Close()
	answer := client.Send(t.Context(), job)
	if answer.Outcome == webhook.OutcomeNetwork {
		answer = client.Send(t.Context(), job)
	}
	if answer.Status != http.StatusCreated {
		t.Errorf("at the new address: %+v", answer)
	}
}
