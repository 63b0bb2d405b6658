package flaky

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// direct is a transport that calls a handler without a network, so that it
// works in fake time.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (w *http.Response, err error) {
	defer func() {
		if recover() != nil {
			err = http.ErrAbortHandler
		}
	}()
	recorder := httptest.NewRecorder()
	d.handler.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

func TestNaiveLoopStormsWhatIsDownAndWaitsForEachAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, `{"latency":"10ms","rules":[{"when":{"to":"3s"},"status":503}]}`)
		loop := &Naive{URL: "http://downstream", Client: &http.Client{Transport: direct{server}}, Workers: 2}
		events := make(chan Webhook, 3)
		for _, id := range []string{"a", "b", "c"} {
			events <- Webhook{ID: id, Body: []byte(id)}
		}
		close(events)
		loop.Run(t.Context(), events)
		// Two workers, 300 answers each in 3 s, then the three successes.
		stats := server.Stats()
		if stats.MostOpen != 2 || stats.Requests != 603 || stats.WorstMinute != 603 || stats.EventsAccepted != 3 {
			t.Errorf("the server saw %+v", stats)
		}
		if diff := cmp.Diff(map[string]int{"503": 600, "200": 3}, stats.Statuses); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

func TestNaiveLoopEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, `{"latency":"10ms","rules":[{"fault":"close"}]}`)
		loop := &Naive{URL: "http://downstream", Client: &http.Client{Transport: direct{server}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		events := make(chan Webhook, 1)
		events <- Webhook{ID: "a"}
		loop.Run(ctx, events)
		if got := server.Stats(); got.Requests < 99 || got.EventsAccepted != 0 {
			t.Errorf("the server saw %+v", got)
		}
	})
}
