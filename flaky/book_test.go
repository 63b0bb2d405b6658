package flaky

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStatsCountEventsRepeatsAndTheWorstWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, `{"rules":[{"name":"bad","when":{"last":1},"status":503}]}`)
		for _, event := range []string{"a", "a", "a", "b"} {
			ask(t, server, event, 2)
		}
		<-time.After(time.Minute)
		ask(t, server, "c", 2)
		want := Stats{
			Requests: 5, Accepted: 4, Bytes: 10,
			Statuses: map[string]int{"200": 4, "503": 1}, Rules: map[string]int{"": 4, "bad": 1},
			LastMinute: 1, LastSecond: 1, WorstMinute: 4, WorstSecond: 4,
			Events: 3, EventsAccepted: 3, Repeats: 1, MostOpen: 1,
		}
		if diff := cmp.Diff(want, server.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

func TestWorstMinuteSlides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, `{"rules":[]}`)
		// 3 at second 59 and 3 at second 61 share a window, though no minute
		// of the clock holds more than 3.
		for _, second := range []time.Duration{59, 2} {
			<-time.After(second * time.Second)
			for range 3 {
				ask(t, server, "", 0)
			}
		}
		if got := server.Stats().WorstMinute; got != 6 {
			t.Errorf("worst minute %d, want 6", got)
		}
	})
}

func TestEventsTellOfOtherBytesAndOfTwoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, `{"latency":"1s","rules":[]}`)
		var both sync.WaitGroup
		observed := make(chan Seen, 3)
		server.Observe = func(seen Seen) { observed <- seen }
		for _, size := range []int{1, 2} {
			both.Go(func() { ask(t, server, "a", size) })
		}
		both.Wait()
		ask(t, server, "b", 1)
		events := server.Events()
		if len(events) != 2 || events[0].ID != "a" || events[1].ID != "b" {
			t.Fatalf("events %+v", events)
		}
		if a := events[0]; !a.Changed || a.MostAtOnce != 2 || a.Requests != 2 || a.Accepted != 2 {
			t.Errorf("event a: %+v", a)
		}
		if b := events[1]; b.Changed || b.MostAtOnce != 1 {
			t.Errorf("event b: %+v", b)
		}
		if len(observed) != 3 {
			t.Errorf("observed %d requests, want 3", len(observed))
		}
	})
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	server := serve(t, `{"rules":[]}`)
	for i := range keptEvents + 2 {
		seen := Seen{EventID: fmt.Sprint(i)}
		server.decide(&seen)
		server.finish(seen)
	}
	requests := server.Requests()
	if len(requests) != keptRequests || requests[0].Number != keptEvents+3-keptRequests || requests[len(requests)-1].Number != keptEvents+2 {
		t.Errorf("%d requests, from %d to %d", len(requests), requests[0].Number, requests[len(requests)-1].Number)
	}
	stats := server.Stats()
	if len(server.Events()) != keptEvents || stats.Untracked != 2 || stats.Requests != keptEvents+2 {
		t.Errorf("%d events, stats %+v", len(server.Events()), stats)
	}
}

func TestCountsAreReadFromOutsideAndNotCounted(t *testing.T) {
	server := serve(t, `{"rules":[{"status":503}]}`)
	ask(t, server, "a", 1)
	tests := []struct {
		path string
		want int
		into any
	}{
		{"/_flaky/stats", 200, &Stats{}},
		{"/_flaky/requests", 200, &struct{ Items []Seen }{}},
		{"/_flaky/events", 200, &struct{ Items []Event }{}},
		{"/_flaky/other", 404, nil},
	}
	for _, test := range tests {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, test.path, nil))
		if w.Code != test.want {
			t.Errorf("%s: %d", test.path, w.Code)
		}
		if test.into == nil {
			continue
		}
		if err := json.Unmarshal(w.Body.Bytes(), test.into); err != nil {
			t.Errorf("%s: %v", test.path, err)
		}
	}
	if got := tests[0].into.(*Stats); got.Requests != 1 || got.Statuses["503"] != 1 {
		t.Errorf("stats %+v", got)
	}
	if got := tests[1].into.(*struct{ Items []Seen }).Items; len(got) != 1 || got[0].EventID != "a" {
		t.Errorf("requests %+v", got)
	}
}
