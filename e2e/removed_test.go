package e2e

import (
	"net/http"
	"testing"
	"time"
)

// TestWhatWaitsForADestinationThatIsGoneIsTold: one that was renamed or taken
// out of the settings must not swallow what waits for it in silence.
func TestWhatWaitsForADestinationThatIsGoneIsTold(t *testing.T) {
	inWatched(t, 503, func(w *watched) {
		old := []string{"WEIR_DESTINATIONS=default,old", "WEIR_DESTINATION_OLD_URL=http://moody/"}
		stop := w.begin(append(old, "WEIR_SOURCE_GITHUB_TO=old")...)
		w.send("a", 100)
		<-time.After(time.Minute)
		stop()

		stop = w.begin()
		wants(w.t, w.log.String(), `"deliveries wait for a destination that is not configured any more"`, `"destination":"old"`, `"pending":1`)
		wants(w.t, w.told(time.Minute, 1), "destination old: is not configured any more")
		status, text := w.request("GET", "/healthz/delivery", nil, nil)
		if status != http.StatusServiceUnavailable {
			w.t.Errorf("the monitor of deliveries says %d %s", status, text)
		}
		d := w.event("a").Deliveries[0]
		if d.State != "pending" || d.WaitingFor != "gone" || d.NextAttemptAt != nil {
			w.t.Errorf("shown as %+v", d)
		}
		for _, query := range []string{"waiting_for=gone", "waiting_for=gone&destination=old", "destination=old"} {
			var page struct{ Items []struct{} }
			w.ask("/v1/deliveries?"+query, &page)
			if len(page.Items) != 1 {
				w.t.Errorf("%s lists %d deliveries", query, len(page.Items))
			}
		}
		<-time.After(100 * time.Hour)
		w.told(0, 1)
		stop()

		stop = w.begin(old...)
		w.sink.status.Store(200)
		w.wait(time.Hour, "delivered", 1) // older than MAX_AGE, it gets its turn after a start
		if status := w.status("/healthz/delivery"); status != http.StatusOK {
			w.t.Errorf("with the destination again: %d", status)
		}
		stop()
	})
}
