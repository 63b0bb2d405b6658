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
			limiter := newLimiter("test", []webhook.Rate{rate}, table{})
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
func checkWait(t *testing.T, limiter *limiter, rate webhook.Rate, refusal Refusal) {
	t.Helper()
	about := fmt.Sprintf("%s, told to wait %s", rate, refusal.Wait)
	if refusal.Wait%time.Second != 0 || refusal.Wait < time.Second || refusal.Wait > rate.Per+time.Second {
		t.Fatalf("%s: not a whole number of seconds within a window", about)
	}
	if refusal.Wait > time.Second {
		pass(refusal.Wait - time.Second)
		if again := limiter.check("k"); again.Wait != time.Second {
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

// TestNoWindowHoldsMoreThanTheLimit looks at every window of random traffic, in
// which some places are given back, and at how much was let in over all.
func TestNoWindowHoldsMoreThanTheLimit(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			rate := webhook.Rate{N: 1 + random.IntN(30), Per: time.Minute}
			limiter := newLimiter("test", []webhook.Rate{rate}, table{Marks: 64})
			start := time.Now()
			var taken []time.Time
			for time.Since(start) < 20*rate.Per {
				reservation, refusal := limiter.Take("k")
				switch {
				case refusal.Refused():
				case random.IntN(4) == 0:
					reservation.Cancel()
				default:
					taken = append(taken, time.Now())
				}
				pass(time.Duration(random.Int64N(int64(rate.Per) / int64(2*rate.N))))
			}
			for i := rate.N; i < len(taken); i++ {
				if window := taken[i].Sub(taken[i-rate.N]); window < rate.Per {
					t.Fatalf("%s: %d within %s", rate, rate.N+1, window)
				}
			}
			if least := 15 * rate.N; len(taken) < least {
				t.Errorf("%s: only %d let in, want at least %d", rate, len(taken), least)
			}
		})
	}
}

// A sender that always asks for more than its rate gets its rate, window by window.
func TestASteadySenderOverTheLimitGetsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const windows = 10
		limiter := newLimiter("test", []webhook.Rate{{N: 120, Per: time.Minute}}, table{Marks: 64})
		taken := 0
		for range windows * 240 {
			if _, refusal := limiter.Take("k"); !refusal.Refused() {
				taken++
			}
			pass(250 * time.Millisecond)
		}
		if least := windows * 115; taken < least || taken > windows*120 {
			t.Errorf("%d let in within %d minutes, want %d to %d", taken, windows, least, windows*120)
		}
	})
}

func TestARefusalByOneRateUsesUpNoOther(t *testing.T) {
	for _, rates := range [][]webhook.Rate{
		{{N: 2, Per: time.Second}, {N: 3, Per: time.Hour}},
		{{N: 3, Per: time.Hour}, {N: 2, Per: time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			limiter := newLimiter("test", rates, table{})
			refused := 0
			for range 10 {
				if _, refusal := limiter.Take("k"); refusal.Refused() {
					refused++
				}
			}
			if refused != 8 {
				t.Errorf("%d of 10 refused, want 8", refused)
			}
			pass(2 * time.Second)
			if _, refusal := limiter.Take("k"); refusal.Refused() {
				t.Errorf("%v: the third of an hour is refused, as if refusals had used it up", rates)
			}
		})
	}
}

func TestAWindowThatIsNoWholeSecondIsRoundedUp(t *testing.T) {
	for per, want := range map[time.Duration]string{
		1500 * time.Millisecond: `"test";q=5;w=2`, time.Second: `"test";q=5;w=1`, 100 * time.Millisecond: `"test";q=5;w=1`, time.Minute: `"test";q=5;w=60`,
	} {
		refusal := Refusal{Wait: time.Second, Name: "test", Rate: webhook.Rate{N: 5, Per: per}}
		if got := refusal.Header().Get("RateLimit-Policy"); got != want {
			t.Errorf("%s: %s, want %s", per, got, want)
		}
	}
}
