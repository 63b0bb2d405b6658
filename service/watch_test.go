package service

import (
	"io"
	"testing"
	"time"

	"weir/config"
	"weir/handler"
	"weir/service/alert"
	"weir/webhook"
)

// TestAFullVolumeIsWatched: the condition is active near the cap, and not below.
func TestAFullVolumeIsWatched(t *testing.T) {
	full := openService(t, io.Discard, "WEIR_MAX_DATABASE=64KiB")
	full.watchRoom(t.Context(), time.Now())
	if !full.alerter.IsActive(alert.Condition{Kind: alert.Full}) {
		t.Error("nobody is told of a store that is nearly full")
	}
	roomy := openService(t, io.Discard, "WEIR_MAX_DATABASE=1GiB")
	roomy.watchRoom(t.Context(), time.Now())
	if roomy.alerter.IsActive(alert.Condition{Kind: alert.Full}) {
		t.Error("a store with room is called full")
	}
}

func BenchmarkObserveAnAcceptedEvent(b *testing.B) {
	s, err := config.Load(environ("WEIR_ALERT_URL=http://chat/"))
	if err != nil {
		b.Fatal(err)
	}
	svc := newService(Config{Settings: s, Log: io.Discard})
	seen := handler.Observation{Source: "github", Result: webhook.ResultAccepted, Bytes: 1024, At: time.Now(), Duration: time.Millisecond}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			svc.received(seen)
		}
	})
}
