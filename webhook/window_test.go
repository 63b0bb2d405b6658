package webhook_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"weir/webhook"
)

// TestWindowNeverLetsMoreThroughThanItsRate is the bound itself, for random
// rates and random arrivals, against a plain count of what went through.
func TestWindowNeverLetsMoreThroughThanItsRate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rate := webhook.Rate{N: 1 + random.IntN(200), Per: time.Duration(1+random.IntN(100_000)) * time.Millisecond}
		window := webhook.Window{Rate: rate}
		now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
		var sent []time.Time
		for range 400 {
			now = now.Add(time.Duration(random.Int64N(int64(rate.Per/time.Duration(rate.N)*2 + 1))))
			if window.Left(now) == 0 {
				if next := window.Next(now); !next.After(now) {
					t.Fatalf("%s is full at %s, but has room at %s", rate, now, next)
				}
				continue
			}
			if next := window.Next(now); next.After(now) {
				t.Fatalf("%s has room at %s, but says %s", rate, now, next)
			}
			window = window.Add(now, 1)
			sent = append(sent, webhook.Ceil(now))
			if n := within(sent, rate.Per); n > rate.N {
				t.Fatalf("%d requests within %s, the rate is %s", n, rate.Per, rate)
			}
		}
		if len(window.Marks) > 66 {
			t.Errorf("%d marks", len(window.Marks))
		}
	}
}

// within counts the times in the window that ends with the last one.
func within(times []time.Time, per time.Duration) int {
	last, n := times[len(times)-1], 0
	for _, at := range times {
		if at.After(last.Add(-per)) {
			n++
		}
	}
	return n
}

func TestWindowHasRoomAgainWhenItSays(t *testing.T) {
	window := webhook.Window{Rate: webhook.Rate{N: 3, Per: time.Minute}}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for i := range 3 {
		window = window.Add(now.Add(time.Duration(i)*10*time.Second), 1)
	}
	now = now.Add(30 * time.Second)
	next := window.Next(now)
	if want := now.Add(30 * time.Second); !next.Equal(want) {
		t.Errorf("room at %s, want %s", next, want)
	}
	if window.Left(next.Add(-time.Millisecond)) != 0 || window.Left(next) != 1 {
		t.Errorf("left before %d, then %d", window.Left(next.Add(-time.Millisecond)), window.Left(next))
	}
}

func TestWindowIsAValue(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	before := webhook.Window{Rate: webhook.Rate{N: 9, Per: time.Minute}}.Add(now, 1)
	after := before.Add(now.Add(time.Millisecond), 1)
	if before.Left(now) != 8 || after.Left(now.Add(time.Millisecond)) != 7 {
		t.Errorf("before %d, after %d", before.Left(now), after.Left(now))
	}
}

func TestNoRateIsNoLimit(t *testing.T) {
	now := time.Now()
	window := webhook.Window{}.Add(now, 1000)
	if !window.Next(now).Equal(now) || len(window.Marks) != 0 {
		t.Errorf("window %+v", window)
	}
}

// TestARemovedRequestGivesItsRoomBack: exactly that, and only once it was counted.
func TestARemovedRequestGivesItsRoomBack(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	w := webhook.Window{Rate: webhook.Rate{N: 3, Per: time.Minute}}.Add(now, 1).Add(now.Add(10*time.Millisecond), 1).Add(now.Add(30*time.Second), 1)
	for _, c := range []struct {
		at   time.Duration
		left int
	}{{0, 1}, {10 * time.Millisecond, 1}, {30 * time.Second, 1}, {20 * time.Second, 0}, {-time.Second, 0}} {
		if left := w.Remove(now.Add(c.at)).Left(now.Add(31 * time.Second)); left != c.left {
			t.Errorf("after the removal of the one at %s: %d left, want %d", c.at, left, c.left)
		}
	}
	if w.Left(now.Add(31*time.Second)) != 0 {
		t.Error("the window itself has changed")
	}
}
