package main

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/handler"
	"weir/store"
	"weir/webhook"
)

// waiting takes what waits to be sent.
func (d *alertDesk) waiting() []string {
	var texts []string
	for {
		select {
		case text := <-d.outbox:
			texts = append(texts, text)
		default:
			return texts
		}
	}
}

// expect fails unless exactly these messages wait.
func (d *alertDesk) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, d.waiting()); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// inFakeTime runs a test with a desk that nobody empties.
func inFakeTime(t *testing.T, test func(t *testing.T, d *alertDesk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, alertHouse(t, io.Discard, newMemoryNet()).desk) })
}

func TestAStoreThatCannotCommitIsTold(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *alertDesk) {
		disk := store.Commit{Err: fmt.Errorf("%w: disk I/O error", webhook.ErrUnavailable)}
		d.committed(store.Commit{})
		d.committed(store.Commit{Err: errors.New("one operation was wrong")})
		d.expect(t, "nothing is wrong with the disk")
		d.committed(disk)
		d.committed(disk)
		d.expect(t, "the disk fails", "the store cannot commit: new events are answered 503")
		<-time.After(90 * time.Second)
		d.committed(store.Commit{Err: errors.New("one operation was wrong")})
		d.expect(t, "that says nothing about the disk")
		d.committed(store.Commit{})
		d.expect(t, "it is well again", "over after 1m30s: the store could not commit")
	})
}

func TestAFullStoreIsTold(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *alertDesk) {
		full := handler.Observation{Source: "github", Result: webhook.ResultUnavailable, Reason: "store is full", Secret: -1, At: time.Now()}
		if full.Limit() != handler.LimitDatabase {
			t.Fatalf("%+v is not taken for a full store", full)
		}
		d.received(full)
		d.received(full)
		d.expect(t, "full", "the store is full: new events are answered 503")
		if !d.told(matter{alertFull, ""}) {
			t.Error("it does not stand")
		}
		<-time.After(time.Minute)
		d.stand(alertFull, nil, time.Now())
		d.expect(t, "room again", "over after 1m0s: the store was full, or nearly")
	})
}

func TestARoomIsWatched(t *testing.T) {
	h := openHouse(t, io.Discard, "WEIR_ALERT_URL=http://chat/", "WEIR_MAX_DATABASE=64KiB")
	h.lookAtRoom(t.Context(), time.Now())
	h.lookAtRoom(t.Context(), time.Now())
	got := h.desk.waiting()
	if len(got) != 1 {
		t.Fatalf("%q", got)
	}
	wants(t, got[0], "the store is ", " % full")
	roomy := openHouse(t, io.Discard, "WEIR_ALERT_URL=http://chat/", "WEIR_MAX_DATABASE=1GiB")
	roomy.lookAtRoom(t.Context(), time.Now())
	roomy.desk.expect(t, "a store with room")
}

func TestWhatASenderRevokesIsTold(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *alertDesk) {
		d.received(handler.Observation{Source: "twitch", Result: webhook.ResultAccepted, Secret: 0, At: time.Now(),
			Alert: "Twitch has revoked a subscription: user_removed"})
		d.expect(t, "a revocation", "source twitch: Twitch has revoked a subscription: user_removed")
	})
}

func TestWhatAnOperatorCancelsIsNoNews(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *alertDesk) {
		d.died("default", webhook.DeadCancelled, 3)
		d.died("default", webhook.DeadExpired, 0)
		d.expect(t, "cancelled")
		d.died("default", webhook.DeadExpired, 200)
		d.expect(t, "expired", "deliveries to default died: 200 expired")
	})
}

func TestOfAKindOnlyWhatStandsNowGoesOn(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *alertDesk) {
		a := condition{matter: matter{alertHold, "a auth"}, text: "a is held"}
		b := condition{matter: matter{alertHold, "b auth"}, text: "b is held"}
		loop := condition{matter: matter{alertStuck, "a"}, text: "a does not turn"}
		d.stand(alertHold, []condition{a, b}, time.Now())
		d.stand(alertStuck, []condition{loop}, time.Now())
		d.expect(t, "both", "a is held", "b is held", "a does not turn")
		<-time.After(time.Minute)
		d.stand(alertHold, []condition{b}, time.Now())
		d.expect(t, "one is left", "over after 1m0s: destination a was held: auth")
		d.stand(alertStuck, nil, time.Now())
		d.expect(t, "the loop turns", "over after 1m0s: destination a: its dispatch loop did not turn")
	})
}

// TestWithoutAnAddressAlertsAreOnlyLogged: nothing waits that nobody takes.
func TestWithoutAnAddressAlertsAreOnlyLogged(t *testing.T) {
	h := openHouse(t, io.Discard)
	for range 10 * maxOutbox {
		h.desk.died("default", webhook.DeadRejected, 1)
	}
	h.desk.close()
	h.desk.close()
	if h.desk.outbox != nil || h.meters.alerts[string(alertDropped)].Get() != 0 {
		t.Error("messages wait for nobody")
	}
}

func BenchmarkObserveAnAcceptedEvent(b *testing.B) {
	s, err := loadSettings(houseWith("WEIR_ALERT_URL=http://chat/"))
	if err != nil {
		b.Fatal(err)
	}
	h := newHouse(serviceConfig{settings: s, log: io.Discard})
	seen := handler.Observation{Source: "github", Result: webhook.ResultAccepted, Bytes: 1024, At: time.Now(), Duration: time.Millisecond}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h.received(seen)
		}
	})
}
