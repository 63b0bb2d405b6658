package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"weir/webhook"
)

// TestWhoeverWaitsAsToldIsLetIn tries many limits, windows and patterns of
// requests. The wait must be enough, and no second longer than needed.
func TestWhoeverWaitsAsToldIsLetIn(t *testing.T) {
	windows := []time.Duration{100 * time.Millisecond, time.Second, 1500 * time.Millisecond, 10 * time.Second, time.Minute, time.Hour, 24 * time.Hour}
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			rate := webhook.Rate{N: 1 + random.IntN(60), Per: windows[random.IntN(len(windows))]}
			limiter := NewLimiter("test", []webhook.Rate{rate}, Table{})
			pass(time.Duration(random.Int64N(int64(rate.Per))))
			refused := 0
			for range 40 * rate.N {
				_, refusal := limiter.Take("k")
				if !refusal.Refused() {
					pass(time.Duration(random.ExpFloat64() * float64(rate.Per) / float64(2*rate.N)))
					continue
				}
				if refused++; refused > 20 {
					return
				}
				checkWait(t, limiter, rate, refusal)
			}
			if refused == 0 {
				t.Fatal("the pattern never met the limit")
			}
		})
	}
}

// checkWait waits as told: one second less is too early, as told is enough.
func checkWait(t *testing.T, limiter *Limiter, rate webhook.Rate, refusal Refusal) {
	t.Helper()
	about := fmt.Sprintf("%s, told to wait %s", rate, refusal.Wait)
	if refusal.Wait%time.Second != 0 || refusal.Wait < time.Second || refusal.Wait > 2*rate.Per+time.Second {
		t.Fatalf("%s: not a whole number of seconds within two windows", about)
	}
	if refusal.Wait > time.Second {
		pass(refusal.Wait - time.Second)
		if again := limiter.Check("k"); again.Wait != time.Second {
			t.Fatalf("%s: a second earlier told to wait %s", about, again.Wait)
		}
		pass(time.Second)
	} else {
		pass(refusal.Wait)
	}
	if _, again := limiter.Take("k"); again.Refused() {
		t.Fatalf("%s: refused after it", about)
	}
}

// pass lets the bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }
