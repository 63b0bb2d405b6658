package dispatch_test

import (
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// answers plays a row of outcomes, a second apart, and returns the gates.
func answers(in dispatch.Sent, outcomes ...webhook.Outcome) webhook.Destination {
	for _, outcome := range outcomes {
		in.Answer.Outcome = outcome
		in.Answer.At = in.Answer.At.Add(time.Second)
		in.To = dispatch.Decide(in, never).Gates
	}
	return in.To
}

const (
	good = webhook.OutcomeDelivered
	bad  = webhook.OutcomeTransient
	none = webhook.OutcomeNetwork
)

func TestTheBreakerOpensAtFiveInARowOrAtHalf(t *testing.T) {
	tests := []struct {
		name     string
		outcomes []webhook.Outcome
		open     bool
	}{
		{"four in a row", []webhook.Outcome{bad, none, bad, none}, false},
		{"five in a row", []webhook.Outcome{bad, none, bad, none, bad}, true},
		{"broken by a success", []webhook.Outcome{bad, bad, bad, bad, good, bad, bad, bad}, false},
		{"half of ten", []webhook.Outcome{good, bad, good, bad, good, bad, good, bad, good, bad}, true},
		{"less than half of ten", []webhook.Outcome{good, bad, good, bad, good, bad, good, bad, good, good}, false},
		{"half of nine is too few", []webhook.Outcome{bad, good, bad, good, bad, good, bad, good, bad}, false},
		{"limits are no failures", []webhook.Outcome{
			webhook.OutcomeRateLimited, webhook.OutcomeRateLimited, webhook.OutcomeQuotaExhausted,
			webhook.OutcomeAuth, webhook.OutcomeGone, webhook.OutcomeMisdirected,
			webhook.OutcomeRejected, webhook.OutcomeTooLarge, webhook.OutcomeRejected, webhook.OutcomeRejected,
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := answers(sent(ok), test.outcomes...).Breaker.Open(); got != test.open {
				t.Errorf("open: %t", got)
			}
		})
	}
}

func TestWhatIsOlderThanThirtySecondsDoesNotCount(t *testing.T) {
	in := sent(ok)
	in.To = answers(in, bad, good, bad, good, bad, good, bad, good)
	in.Answer.At = noon.Add(45 * time.Second)
	if answers(in, bad, good).Breaker.Open() {
		t.Error("opened by what happened long before")
	}
}

// opened is a destination whose breaker has just opened.
func opened() dispatch.Sent {
	in := sent(ok)
	in.To = answers(in, bad, bad, bad, bad, bad)
	in.Answer.At = noon.Add(time.Minute)
	return in
}

// TestNothingButASuccessfulTrialClosesTheBreaker goes through every answer
// that a trial can get.
func TestNothingButASuccessfulTrialClosesTheBreaker(t *testing.T) {
	for _, outcome := range webhook.Outcomes() {
		in := opened()
		in.Probe = true
		in.Answer = webhook.Answer{Outcome: outcome, At: in.Answer.At}
		b := dispatch.Decide(in, never).Gates.Breaker
		if outcome == good {
			if b.Open() {
				t.Error("a successful trial leaves it open")
			}
			continue
		}
		if !b.Open() {
			t.Errorf("%s closes the breaker", outcome)
		}
		if wait := b.Until.Sub(in.Answer.At); wait < 30*time.Second || wait > 10*time.Minute {
			t.Errorf("%s: the next trial goes after %s", outcome, wait)
		}
	}
}

func TestALateSuccessDoesNotCloseTheBreaker(t *testing.T) {
	in := opened()
	in.Answer.Outcome = good
	if !dispatch.Decide(in, never).Gates.Breaker.Open() {
		t.Error("closed by a request that left before it opened")
	}
}

func TestALateFailureDoesNotMoveTheTrial(t *testing.T) {
	in := opened()
	until := in.To.Breaker.Until
	in.Answer.Outcome = bad
	if got := dispatch.Decide(in, never).Gates.Breaker.Until; !got.Equal(until) {
		t.Errorf("moved from %s to %s", until, got)
	}
}

func TestTheOpenTimeDoublesToTenMinutesAndIsRandom(t *testing.T) {
	for _, chance := range []dispatch.Chance{never, always} {
		in := opened()
		in.Probe = true
		in.Answer.Outcome = bad
		for trial, base := range seconds(60, 120, 240, 480, 600, 600) {
			r := dispatch.Decide(in, chance)
			wait := r.Gates.Breaker.Until.Sub(in.Answer.At)
			if wait < min(base, 400*time.Second) || wait > min(base*3/2, 10*time.Minute) {
				t.Errorf("after failed trial %d it stays open for %s", trial+1, wait)
			}
			in.To = r.Gates
		}
	}
	a, b := opened(), opened()
	a.Probe, b.Probe, a.Answer.Outcome, b.Answer.Outcome = true, true, bad, bad
	if dispatch.Decide(a, never).Gates.Breaker.Until.Equal(dispatch.Decide(b, always).Gates.Breaker.Until) {
		t.Error("the open time is not random")
	}
}

func TestReservingAProbeMovesEveryProbeTimeAhead(t *testing.T) {
	in := opened()
	d := in.To.WithHold(webhook.Hold{Reason: webhook.HoldQuota, Until: noon}).WithHold(webhook.Hold{Reason: webhook.HoldRetryAfter, Until: noon, Step: 2})
	now := noon.Add(time.Hour)
	reserved := dispatch.ReserveProbe(d, now, webhook.ID{1})
	for reason, want := range map[webhook.HoldReason]time.Duration{webhook.HoldQuota: 15 * time.Minute, webhook.HoldRetryAfter: 16 * time.Second} {
		if h, _ := reserved.Hold(reason); h.Until.Sub(now) != want || h.Probes != 1 {
			t.Errorf("%s: next probe after %s, %d probes", reason, h.Until.Sub(now), h.Probes)
		}
	}
	if wait := reserved.Breaker.Until.Sub(now); wait != 30*time.Second || reserved.Breaker.Trials != 1 {
		t.Errorf("breaker: next trial after %s", wait)
	}
	if h, _ := d.Hold(webhook.HoldQuota); h.Probes != 0 {
		t.Error("ReserveProbe has changed the value it was given")
	}
	if gate := dispatch.Check(reserved, policy("app"), now); gate.Probe {
		t.Error("a second probe may go")
	}
}
