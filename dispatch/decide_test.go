package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// noon is when the answers of these tests come.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// never, half and always are fixed draws of chance.
func never() float64  { return 0 }
func always() float64 { return 0.999999 }

// sent is a first request that got an answer.
func sent(a webhook.Answer) dispatch.Sent {
	a.At = noon
	return dispatch.Sent{
		Delivery: webhook.Delivery{Destination: "app", State: webhook.Pending, Size: 100},
		To:       webhook.Destination{Name: "app"},
		Policy:   policy("app"),
		Number:   1,
		At:       noon.Add(-time.Second),
		Answer:   a,
	}
}

// TestEveryOutcomeHasItsRow is the table of the design (B33): what an outcome
// means for the delivery, for the allowance and for the destination.
func TestEveryOutcomeHasItsRow(t *testing.T) {
	tests := []struct {
		outcome webhook.Outcome
		state   webhook.State
		reason  webhook.DeadReason
		spent   int
		hold    webhook.HoldReason
		failed  int           // failures that the breaker has counted
		wait    time.Duration // 0 for no time of the next attempt
	}{
		{webhook.OutcomeDelivered, webhook.Delivered, "", 1, "", 0, 0},
		{webhook.OutcomeRateLimited, webhook.Pending, "", 0, webhook.HoldRetryAfter, 0, 4 * time.Second},
		{webhook.OutcomeQuotaExhausted, webhook.Pending, "", 0, webhook.HoldQuota, 0, 15 * time.Minute},
		{webhook.OutcomeTransient, webhook.Pending, "", 1, "", 1, 500 * time.Millisecond},
		{webhook.OutcomeNetwork, webhook.Pending, "", 1, "", 1, 500 * time.Millisecond},
		{webhook.OutcomeRejected, webhook.Dead, webhook.DeadRejected, 1, "", 0, 0},
		{webhook.OutcomeTooLarge, webhook.Dead, webhook.DeadTooLarge, 1, "", 0, 0},
		{webhook.OutcomeGone, webhook.Pending, "", 0, webhook.HoldGone, 0, 0},
		{webhook.OutcomeMisdirected, webhook.Pending, "", 1, "", 0, 30 * time.Second},
		{webhook.OutcomeAuth, webhook.Pending, "", 0, webhook.HoldAuth, 0, 15 * time.Minute},
	}
	if len(tests) != len(webhook.Outcomes()) || len(tests) != len(dispatch.Table()) {
		t.Fatal("an outcome has no row")
	}
	for i, test := range tests {
		t.Run(string(test.outcome), func(t *testing.T) {
			if dispatch.Table()[i].Outcome != test.outcome {
				t.Fatalf("row %d of the table is %s", i, dispatch.Table()[i].Outcome)
			}
			r := dispatch.Decide(sent(webhook.Answer{Outcome: test.outcome}), never)
			d := r.Delivery
			if d.State != test.state || d.Reason != test.reason || d.Spent != test.spent {
				t.Errorf("state %s, reason %q, spent %d", d.State, d.Reason, d.Spent)
			}
			if r.Attempt.Spent != (test.spent == 1) || r.Attempt.Decision != test.state || r.Attempt.Number != 1 {
				t.Errorf("attempt %+v", r.Attempt)
			}
			if final := d.State != webhook.Pending; final != !d.FinishedAt.IsZero() {
				t.Errorf("finished at %s in state %s", d.FinishedAt, d.State)
			}
			if test.hold == "" && len(r.Gates.Holds) > 0 {
				t.Errorf("holds %+v", r.Gates.Holds)
			}
			if _, held := r.Gates.Hold(test.hold); test.hold != "" && !held {
				t.Errorf("no hold %s", test.hold)
			}
			if r.Gates.Breaker.InARow != test.failed {
				t.Errorf("%d failures counted", r.Gates.Breaker.InARow)
			}
			if next := r.Attempt.NextAttemptAt; test.wait == 0 != next.IsZero() || test.wait > 0 && !next.Equal(noon.Add(test.wait)) {
				t.Errorf("next attempt at %s", next)
			}
		})
	}
}

func TestAnOutcomeOutsideTheSetIsTriedAgainWithinBounds(t *testing.T) {
	r := dispatch.Decide(sent(webhook.Answer{Outcome: "surprise"}), never)
	if r.Delivery.State != webhook.Pending || r.Delivery.Spent != 1 {
		t.Errorf("delivery %+v", r.Delivery)
	}
}

// TestB30AHintIsAFloorWithTheSpreadOnTop covers every outcome that can bear a
// hint: nothing may go before it, and what is added is never taken away.
func TestB30AHintIsAFloorWithTheSpreadOnTop(t *testing.T) {
	tests := []struct {
		hint        time.Duration
		first, last time.Duration
	}{
		{0, 4 * time.Second, 5 * time.Second}, // the own wait: 0 is no order to retry at once
		{644 * time.Millisecond, 644 * time.Millisecond, 1644 * time.Millisecond},
		{30 * time.Second, 30 * time.Second, 33 * time.Second},
		{time.Hour, time.Hour, 61 * time.Minute},
		{24 * time.Hour, 24 * time.Hour, 24*time.Hour + time.Minute},
		{webhook.MaxHint, webhook.MaxHint, webhook.MaxHint + time.Minute},
	}
	for _, test := range tests {
		for _, chance := range []dispatch.Chance{never, always} {
			a := webhook.Answer{Outcome: webhook.OutcomeRateLimited, Hint: webhook.Hint{Wait: test.hint, From: "Retry-After"}}
			r := dispatch.Decide(sent(a), chance)
			h, _ := r.Gates.Hold(webhook.HoldRetryAfter)
			if wait := h.Until.Sub(noon); wait < test.first || wait > test.last {
				t.Errorf("a hint of %s holds for %s", test.hint, wait)
			}
			if r.Attempt.NextAttemptAt.Before(h.Until) {
				t.Errorf("the next attempt is expected before the hold ends")
			}
			if h.NeedsOperator != (test.hint > 24*time.Hour) {
				t.Errorf("a hint of %s: needs operator %t", test.hint, h.NeedsOperator)
			}
		}
	}
}

func TestAFailureWithAHintHoldsAndSpendsNothing(t *testing.T) {
	a := webhook.Answer{Outcome: webhook.OutcomeTransient, Status: 503, Hint: webhook.Hint{Wait: 2 * time.Hour, From: "Retry-After"}}
	r := dispatch.Decide(sent(a), never)
	h, held := r.Gates.Hold(webhook.HoldRetryAfter)
	if !held || !h.Until.Equal(noon.Add(2*time.Hour)) || h.From != "Retry-After" {
		t.Errorf("hold %+v", h)
	}
	if r.Delivery.Spent != 0 || r.Attempt.Spent || r.Gates.Breaker.InARow != 1 {
		t.Errorf("spent %d, counted %d", r.Delivery.Spent, r.Gates.Breaker.InARow)
	}
	if r.Attempt.NextAttemptAt.Before(h.Until) {
		t.Errorf("next attempt at %s", r.Attempt.NextAttemptAt)
	}
}

// TestARefusedProbeHoldsLonger gives the growth of each hold's own wait.
func TestARefusedProbeHoldsLonger(t *testing.T) {
	tests := []struct {
		outcome webhook.Outcome
		hint    time.Duration
		waits   []time.Duration
	}{
		{webhook.OutcomeRateLimited, 0, seconds(4, 8, 16, 32, 64, 128, 256, 512, 900, 900)},
		{webhook.OutcomeRateLimited, time.Second, seconds(1, 4, 8, 16)},
		{webhook.OutcomeRateLimited, time.Minute, seconds(60, 60, 60, 60, 60, 64)},
		{webhook.OutcomeQuotaExhausted, 0, seconds(900, 1800, 3600, 3600)},
		{webhook.OutcomeQuotaExhausted, 36 * time.Second, seconds(36, 60, 120, 240, 480, 960, 1920, 3600, 3600)},
		{webhook.OutcomeQuotaExhausted, 9 * time.Hour, seconds(9*3600, 9*3600)},
		{webhook.OutcomeAuth, 0, seconds(900, 1800, 3600, 3600)},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s hint %s", test.outcome, test.hint), func(t *testing.T) {
			a := webhook.Answer{Outcome: test.outcome}
			if test.hint > 0 {
				a.Hint = webhook.Hint{Wait: test.hint, From: "Retry-After"}
			}
			in := sent(a)
			for i, want := range test.waits {
				r := dispatch.Decide(in, never)
				if wait := r.Gates.Holds[0].Until.Sub(noon); wait != want {
					t.Errorf("refusal %d holds for %s, want %s", i, wait, want)
				}
				if r.Delivery.Spent != 0 {
					t.Errorf("refusal %d was spent", i)
				}
				in.To, in.Probe = r.Gates, true
			}
		})
	}
}

func seconds(list ...int) []time.Duration {
	var durations []time.Duration
	for _, n := range list {
		durations = append(durations, time.Duration(n)*time.Second)
	}
	return durations
}

// TestSeveralAnswersOfOneBurstAreOneRefusal: four requests are out when the
// limit strikes; the hold must not grow four times, and must not shrink.
func TestSeveralAnswersOfOneBurstAreOneRefusal(t *testing.T) {
	in := sent(webhook.Answer{Outcome: webhook.OutcomeRateLimited, Hint: webhook.Hint{Wait: time.Minute, From: "Retry-After"}})
	in.To = dispatch.Decide(in, never).Gates
	in.Answer.Hint.Wait = 10 * time.Second
	h, _ := dispatch.Decide(in, never).Gates.Hold(webhook.HoldRetryAfter)
	if h.Step != 0 || !h.Until.Equal(noon.Add(time.Minute)) {
		t.Errorf("hold %+v", h)
	}
}

// TestOnlyAProbeProvesAHoldOver: an answer to a request that left before the
// hold began is old news.
func TestOnlyAProbeProvesAHoldOver(t *testing.T) {
	in := sent(ok)
	in.To = in.To.WithHold(webhook.Hold{Reason: webhook.HoldQuota, Since: noon.Add(-time.Hour), Until: noon})
	if r := dispatch.Decide(in, never); len(r.Gates.Holds) != 1 {
		t.Error("a late success has ended the hold")
	}
	in.Probe = true
	r := dispatch.Decide(in, never)
	if len(r.Gates.Holds) != 0 || r.Gates.RampFrom.IsZero() {
		t.Errorf("after a successful probe: %+v", r.Gates)
	}
	if r.Delivery.State != webhook.Delivered || r.Attempt.Spent || !r.Attempt.Probe {
		t.Errorf("the probe: %+v", r.Attempt)
	}
}

// TestAHoldThatIsRenewedWhileAProbeIsOutOutlivesIt: a late answer to another
// request has asked for an hour meanwhile, which the probe's answer ends in no way.
func TestAHoldThatIsRenewedWhileAProbeIsOutOutlivesIt(t *testing.T) {
	asked := noon.Add(time.Hour)
	for _, answer := range []webhook.Answer{ok, unavailable, limited(time.Second), {Outcome: webhook.OutcomeRejected}} {
		for _, since := range []time.Time{noon.Add(-time.Hour), noon} {
			in := sent(answer)
			in.Probe = true
			in.To = in.To.WithHold(webhook.Hold{Reason: webhook.HoldRetryAfter, Since: since, Until: asked})
			h, held := dispatch.Decide(in, never).Gates.Hold(webhook.HoldRetryAfter)
			if !held || h.Until.Before(asked) {
				t.Errorf("%s ends what was asked for: %+v", answer.Outcome, h)
			}
		}
	}
}

func TestASuccessfulProbeLeavesTheOperatorsHolds(t *testing.T) {
	in := sent(ok)
	in.Probe = true
	in.To = in.To.WithHold(webhook.Hold{Reason: webhook.HoldPaused, Since: noon}).
		WithHold(webhook.Hold{Reason: webhook.HoldAuth, Since: noon.Add(-time.Hour), Until: noon})
	r := dispatch.Decide(in, never)
	if _, paused := r.Gates.Hold(webhook.HoldPaused); !paused || len(r.Gates.Holds) != 1 {
		t.Errorf("holds %+v", r.Gates.Holds)
	}
}

// TestARefusedPayloadSaysNothingAboutAHold: the next probe goes after the
// shortest interval.
func TestARefusedPayloadSaysNothingAboutAHold(t *testing.T) {
	for _, outcome := range []webhook.Outcome{webhook.OutcomeRejected, webhook.OutcomeTooLarge} {
		in := sent(webhook.Answer{Outcome: outcome})
		in.Probe = true
		in.To = in.To.WithHold(webhook.Hold{Reason: webhook.HoldRetryAfter, Since: noon.Add(-time.Hour), Until: noon, Step: 5})
		r := dispatch.Decide(in, never)
		h, held := r.Gates.Hold(webhook.HoldRetryAfter)
		if !held || !h.Until.Equal(noon.Add(4*time.Second)) || h.Step != 5 {
			t.Errorf("%s: hold %+v", outcome, h)
		}
		if r.Delivery.State != webhook.Dead {
			t.Errorf("%s: state %s", outcome, r.Delivery.State)
		}
	}
}

func TestMisdirectedHoldsAtTheThirdInARow(t *testing.T) {
	in := sent(webhook.Answer{Outcome: webhook.OutcomeMisdirected})
	for i, want := range []time.Duration{30 * time.Second, 5 * time.Minute} {
		r := dispatch.Decide(in, never)
		if wait := r.Delivery.NextAttemptAt.Sub(noon); wait != want || len(r.Gates.Holds) != 0 {
			t.Errorf("try %d waits %s, holds %+v", i+1, wait, r.Gates.Holds)
		}
		in.Delivery, in.To = r.Delivery, r.Gates
	}
	r := dispatch.Decide(in, never)
	if r.Delivery.State != webhook.Dead || r.Delivery.Reason != webhook.DeadMisdirected || r.Delivery.Spent != 3 {
		t.Errorf("after the third try: %+v", r.Delivery)
	}
	h, held := r.Gates.Hold(webhook.HoldMisdirected)
	if !held || !h.NeedsOperator || !h.Until.Equal(noon.Add(15*time.Minute)) {
		t.Errorf("hold %+v", h)
	}
	in.To.Misdirected = 2
	in.Answer = ok
	if r := dispatch.Decide(in, never); r.Gates.Misdirected != 0 {
		t.Error("a success does not end the row")
	}
}

// TestB29TheAllowanceEnds: MAX_ATTEMPTS spent, then dead; probes spend nothing.
func TestB29TheAllowanceEnds(t *testing.T) {
	in := sent(unavailable)
	in.Policy.MaxAttempts = 3
	for n := 1; n <= 3; n++ {
		in.Number = n
		in.Delivery = dispatch.Decide(in, never).Delivery
	}
	if in.Delivery.State != webhook.Dead || in.Delivery.Reason != webhook.DeadExhausted || in.Delivery.Attempts != 3 {
		t.Errorf("after three: %+v", in.Delivery)
	}
	in = sent(unavailable)
	in.Policy.MaxAttempts, in.Probe = 1, true
	if r := dispatch.Decide(in, never); r.Delivery.State != webhook.Pending || r.Delivery.Spent != 0 {
		t.Errorf("a probe: %+v", r.Delivery)
	}
}

// TestBackoffNeverOverflowsAndNeverHurries holds for any number of attempts
// and any setting.
func TestBackoffNeverOverflowsAndNeverHurries(t *testing.T) {
	bases := []time.Duration{time.Millisecond, 2 * time.Second, time.Hour, 1 << 61}
	for _, base := range bases {
		for _, limit := range bases {
			for _, spent := range []int{0, 1, 9, 40, 310, 1 << 40} {
				for _, chance := range []dispatch.Chance{never, always} {
					in := sent(unavailable)
					in.Policy.Backoff, in.Policy.BackoffMax, in.Policy.MaxAttempts = base, limit, 1<<62
					in.Delivery.Spent = spent
					wait := dispatch.Decide(in, chance).Delivery.NextAttemptAt.Sub(noon)
					const least = 500 * time.Millisecond
					if most := max(limit, 2*least); wait < least || wait > most+time.Millisecond {
						t.Errorf("base %s, cap %s, spent %d: waits %s", base, limit, spent, wait)
					}
				}
			}
		}
	}
}

// TestBackoffHasJitterForAnySetting: destinations that failed together must not
// be tried in step.
func TestBackoffHasJitterForAnySetting(t *testing.T) {
	in := sent(unavailable)
	in.Policy.Backoff, in.Policy.BackoffMax = time.Millisecond, time.Millisecond
	if least, most := dispatch.Decide(in, never).Delivery.NextAttemptAt, dispatch.Decide(in, always).Delivery.NextAttemptAt; most.Sub(least) < 400*time.Millisecond {
		t.Errorf("from %s to %s", least, most)
	}
}

func TestBackoffGrowsThreefoldToItsCap(t *testing.T) {
	in := sent(unavailable)
	in.Policy.MaxAttempts = 100
	want := []string{"2s", "6s", "18s", "54s", "2m42s", "8m6s", "15m0s", "15m0s"}
	for n, most := range want {
		in.Delivery.Spent = n
		wait := dispatch.Decide(in, always).Delivery.NextAttemptAt.Sub(noon)
		if got := wait.Round(time.Second).String(); got != most {
			t.Errorf("after %d failures at most %s, want %s", n, got, most)
		}
	}
}

func TestCertificateAndNameFaultsAreSlow(t *testing.T) {
	in := sent(webhook.Answer{Outcome: webhook.OutcomeNetwork, Slow: true})
	for spent := range 5 {
		in.Delivery.Spent = spent
		for _, chance := range []dispatch.Chance{never, always} {
			if wait := dispatch.Decide(in, chance).Delivery.NextAttemptAt.Sub(noon); wait < 5*time.Minute || wait > time.Hour {
				t.Errorf("after %d: %s", spent, wait)
			}
		}
	}
}

func TestACutRequestSpendsNothingAndSaysNothing(t *testing.T) {
	in := sent(webhook.Answer{Outcome: webhook.OutcomeNetwork, Cut: true})
	r := dispatch.Decide(in, never)
	if r.Delivery.Spent != 0 || r.Attempt.Spent || r.Delivery.State != webhook.Pending || r.Delivery.Attempts != 1 {
		t.Errorf("delivery %+v", r.Delivery)
	}
	if r.Gates.Breaker.InARow != 0 || r.Delivery.NextAttemptAt.After(noon) {
		t.Errorf("gates %+v, next %s", r.Gates, r.Delivery.NextAttemptAt)
	}
}

// TestB35APanicCountsForTheDeliveryOnly: one poisonous event must end, and must
// not take the destination with it.
func TestB35APanicCountsForTheDeliveryOnly(t *testing.T) {
	in := sent(webhook.Answer{Outcome: webhook.OutcomeTransient, Internal: true})
	r := dispatch.Decide(in, never)
	if r.Delivery.Spent != 1 || r.Gates.Breaker.InARow != 0 || r.Gates.Slots != 0 {
		t.Errorf("delivery %+v, gates %+v", r.Delivery, r.Gates)
	}
}

func TestSlotsHalveAndGrowAgain(t *testing.T) {
	in := sent(unavailable)
	in.Policy.Concurrency = 8
	for _, want := range []int{4, 2, 1, 1} {
		in.To = dispatch.Decide(in, never).Gates
		in.To.Breaker = webhook.Breaker{}
		if in.To.Slots != want {
			t.Errorf("%d slots, want %d", in.To.Slots, want)
		}
	}
	in.Answer = ok
	successes := 0
	for in.To.Slots < 8 {
		in.To = dispatch.Decide(in, never).Gates
		if successes++; successes > 100 {
			t.Fatal("slots do not grow")
		}
	}
	if successes != 1+2+3+4+5+6+7 {
		t.Errorf("%d successes to grow from 1 to 8", successes)
	}
}

func TestSizesAreRemembered(t *testing.T) {
	in := sent(ok)
	for _, step := range []struct {
		outcome webhook.Outcome
		size    int64
		want    webhook.Sizes
	}{
		{webhook.OutcomeDelivered, 500, webhook.Sizes{LargestAccepted: 500}},
		{webhook.OutcomeTooLarge, 9000, webhook.Sizes{LargestAccepted: 500, SmallestRefused: 9000}},
		{webhook.OutcomeTooLarge, 9500, webhook.Sizes{LargestAccepted: 500, SmallestRefused: 9000}},
		{webhook.OutcomeDelivered, 400, webhook.Sizes{LargestAccepted: 500, SmallestRefused: 9000}},
		{webhook.OutcomeRejected, 9900, webhook.Sizes{LargestAccepted: 500, SmallestRefused: 9000}},
	} {
		in.Answer.Outcome, in.Delivery.Size = step.outcome, step.size
		in.To = dispatch.Decide(in, never).Gates
		if in.To.Sizes != step.want {
			t.Errorf("after %s of %d: %+v", step.outcome, step.size, in.To.Sizes)
		}
	}
}

func TestPaceOnlySlows(t *testing.T) {
	paced := ok
	paced.Pacing = webhook.Pacing{NotBefore: time.Minute, Spacing: 2 * time.Second, For: 10 * time.Second}
	in := sent(paced)
	in.To = dispatch.Decide(in, never).Gates
	in.Answer.Pacing = webhook.Pacing{NotBefore: time.Second, Spacing: time.Second, For: time.Hour}
	got := dispatch.Decide(in, never).Gates.Pace
	want := webhook.Pace{NotBefore: noon.Add(time.Minute), Spacing: 2 * time.Second, SpacingUntil: noon.Add(10 * time.Second)}
	if got != want {
		t.Errorf("pace %+v, want %+v", got, want)
	}
}
