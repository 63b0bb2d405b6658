package alert

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/handler"
	"weir/internal/memorynet"
	"weir/store"
	"weir/webhook"
)

// waiting takes what waits to be sent.
func (d *Alerter) waiting() []string {
	var texts []string
	for {
		select {
		case text := <-d.queue:
			texts = append(texts, text)
		default:
			return texts
		}
	}
}

// expect fails unless exactly these messages wait.
func (d *Alerter) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, d.waiting()); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// inFakeTime runs a test with a desk that nobody empties.
func inFakeTime(t *testing.T, test func(t *testing.T, d *Alerter)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		alerter, _ := testAlerter(io.Discard, memorynet.New())
		test(t, alerter)
	})
}

func TestAStoreThatCannotCommitIsTold(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *Alerter) {
		disk := store.Commit{Err: fmt.Errorf("%w: disk I/O error", webhook.ErrUnavailable)}
		d.Committed(store.Commit{})
		d.Committed(store.Commit{Err: errors.New("one operation was wrong")})
		d.expect(t, "nothing is wrong with the disk")
		d.Committed(disk)
		d.Committed(disk)
		d.expect(t, "the disk fails", "the store cannot commit: new events are answered 503")
		<-time.After(90 * time.Second)
		d.Committed(store.Commit{Err: errors.New("one operation was wrong")})
		d.expect(t, "that says nothing about the disk")
		d.Committed(store.Commit{})
		d.expect(t, "it is well again", "over after 1m30s: the store could not commit")
	})
}

func TestAFullStoreIsTold(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *Alerter) {
		full := handler.Observation{Source: "github", Result: webhook.ResultUnavailable, Reason: "store is full", Secret: -1, At: time.Now()}
		if full.Limit() != handler.LimitDatabase {
			t.Fatalf("%+v is not taken for a full store", full)
		}
		d.Received(full)
		d.Received(full)
		d.expect(t, "full", "the store is full: new events are answered 503")
		if !d.IsActive(Condition{Full, ""}) {
			t.Error("it does not stand")
		}
		<-time.After(time.Minute)
		d.SetActive(Full, nil, time.Now())
		d.expect(t, "room again", "over after 1m0s: the store was full, or nearly")
	})
}

func TestWhatASenderRevokesIsTold(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *Alerter) {
		d.Received(handler.Observation{Source: "twitch", Result: webhook.ResultAccepted, Secret: 0, At: time.Now(),
			Alert: "Twitch has revoked a subscription: user_removed"})
		d.expect(t, "a revocation", "source twitch: Twitch has revoked a subscription: user_removed")
	})
}

func TestWhatAnOperatorCancelsIsNoNews(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *Alerter) {
		d.Died("default", webhook.DeadCancelled, 3)
		d.Died("default", webhook.DeadExpired, 0)
		d.expect(t, "cancelled")
		d.Died("default", webhook.DeadExpired, 200)
		d.expect(t, "expired", "deliveries to default died: 200 expired")
	})
}

func TestOfAKindOnlyWhatStandsNowGoesOn(t *testing.T) {
	inFakeTime(t, func(t *testing.T, d *Alerter) {
		a := Active{Condition: Condition{Hold, "a auth"}, Text: "a is held"}
		b := Active{Condition: Condition{Hold, "b auth"}, Text: "b is held"}
		loop := Active{Condition: Condition{Stuck, "a"}, Text: "a does not turn"}
		d.SetActive(Hold, []Active{a, b}, time.Now())
		d.SetActive(Stuck, []Active{loop}, time.Now())
		d.expect(t, "both", "a is held", "b is held", "a does not turn")
		<-time.After(time.Minute)
		d.SetActive(Hold, []Active{b}, time.Now())
		d.expect(t, "one is left", "over after 1m0s: destination a was held: auth")
		d.SetActive(Stuck, nil, time.Now())
		d.expect(t, "the loop turns", "over after 1m0s: destination a: its delivery loop was stuck")
	})
}

// TestWithoutAnAddressAlertsAreOnlyLogged: nothing waits that nobody takes.
func TestWithoutAnAddressAlertsAreOnlyLogged(t *testing.T) {
	c := &counts{by: map[Result]int{}}
	d := New(Config{Log: slog.New(slog.DiscardHandler), Count: c.add, Started: time.Now()})
	for range 10 * maxQueued {
		d.Died("default", webhook.DeadRejected, 1)
	}
	d.Close()
	d.Close()
	if d.Sends() || c.of(Dropped) != 0 {
		t.Error("messages wait for nobody")
	}
}
