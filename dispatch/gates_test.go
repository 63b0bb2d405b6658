package dispatch_test

import (
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// TestTheMostImportantReasonIsShown goes through the order of the design: of
// everything that holds, the first is named.
func TestTheMostImportantReasonIsShown(t *testing.T) {
	d := webhook.Destination{Name: "app", LastSentAt: noon, Pace: webhook.Pace{NotBefore: noon.Add(time.Second)}}
	p := policy("app")
	p.Concurrency = 1
	d.Retries = webhook.Window{Rate: webhook.Rate{N: 1, Per: time.Minute}}.Add(noon, 1)
	delivery := webhook.Delivery{EventID: webhook.ID{1}, State: webhook.Pending, Attempts: 1, NextAttemptAt: noon.Add(time.Minute)}
	status := func() webhook.Status { return webhook.Status{Destination: d, Policy: p} }
	var shown []webhook.WaitingFor
	see := func(s webhook.Status) {
		word, _ := dispatch.Waiting(s, delivery, noon)
		shown = append(shown, word)
	}
	flying := status()
	flying.InFlight = []webhook.ID{{1}}
	see(flying)
	all := d
	for _, reason := range webhook.HoldReasons() {
		all = all.WithHold(webhook.Hold{Reason: reason, Until: noon.Add(time.Hour)})
	}
	all.Breaker = webhook.Breaker{OpenSince: noon, Until: noon.Add(time.Hour)}
	for _, reason := range webhook.HoldReasons() {
		see(webhook.Status{Destination: all, Policy: p})
		all = all.WithoutHold(reason)
	}
	see(webhook.Status{Destination: all, Policy: p})
	see(status()) // budget
	d.Retries = webhook.Window{}
	see(status()) // pace
	d.Pace = webhook.Pace{}
	delivery.Refusals = 1
	see(status()) // refused
	delivery.Refusals = 0
	see(status()) // backoff
	delivery.NextAttemptAt = noon
	see(status()) // due
	want := webhook.WaitingFors()
	if len(shown) != len(want) {
		t.Fatalf("%d words shown, want %d", len(shown), len(want))
	}
	for i := range want {
		if shown[i] != want[i] {
			t.Errorf("place %d shows %s, want %s", i, shown[i], want[i])
		}
	}
}

func TestUntilIsWhenTheLastReasonHasPassed(t *testing.T) {
	d := webhook.Destination{Name: "app"}
	d = d.WithHold(webhook.Hold{Reason: webhook.HoldQuota, Until: noon.Add(time.Minute)})
	d = d.WithHold(webhook.Hold{Reason: webhook.HoldRetryAfter, Until: noon.Add(time.Hour)})
	p := policy("app")
	gate := dispatch.Check(d, p, noon)
	if gate.WaitingFor != webhook.WaitQuota || !gate.Until.Equal(noon.Add(time.Hour)) || gate.Probe {
		t.Errorf("gate %+v", gate)
	}
	if gate := dispatch.Check(d, p, noon.Add(time.Hour-time.Millisecond)); gate.Probe {
		t.Error("a probe may go early")
	}
	if gate := dispatch.Check(d, p, noon.Add(time.Hour)); !gate.Probe || gate.WaitingFor != webhook.WaitQuota {
		t.Errorf("at its time: %+v", gate)
	}
}

func TestOnlyAPersonEndsPausedAndGone(t *testing.T) {
	for _, reason := range []webhook.HoldReason{webhook.HoldPaused, webhook.HoldGone} {
		d := webhook.Destination{}.WithHold(webhook.Hold{Reason: reason}).WithHold(webhook.Hold{Reason: webhook.HoldAuth, Until: noon})
		gate := dispatch.Check(d, policy("app"), noon.Add(1000*time.Hour))
		if gate.Probe || !gate.Until.IsZero() || gate.WaitingFor != webhook.WaitingFor(reason) {
			t.Errorf("%s: %+v", reason, gate)
		}
	}
}

func TestAFullWindowStopsAProbeToo(t *testing.T) {
	d := webhook.Destination{}.WithHold(webhook.Hold{Reason: webhook.HoldQuota, Until: noon})
	d.Sent = []webhook.Window{webhook.Window{Rate: webhook.Rate{N: 1, Per: time.Minute}}.Add(noon, 1)}
	if gate := dispatch.Check(d, policy("app"), noon.Add(time.Second)); gate.Probe {
		t.Errorf("gate %+v", gate)
	}
}

// TestARampDoublesEachSecond: after a hold the rate grows 1, 2, 4 … per second.
func TestARampDoublesEachSecond(t *testing.T) {
	d := webhook.Destination{RampFrom: noon}
	sends := map[int]int{}
	for now := noon; now.Before(noon.Add(8 * time.Second)); now = now.Add(time.Millisecond) {
		if dispatch.Check(d, policy("app"), now).WaitingFor == webhook.WaitDue {
			sends[int(now.Sub(noon)/time.Second)]++
			d.LastSentAt = now
		}
	}
	for second := range 7 {
		if most := 1 << second; sends[second] > most+1 || sends[second] < most/2 {
			t.Errorf("second %d lets %d through, want about %d", second, sends[second], most)
		}
	}
	if gate := dispatch.Check(d, policy("app"), noon.Add(9*time.Second)); gate.WaitingFor != webhook.WaitDue {
		t.Errorf("the ramp does not end: %+v", gate)
	}
}

func TestSpacingLastsAsLongAsItWasAskedFor(t *testing.T) {
	d := webhook.Destination{LastSentAt: noon, Pace: webhook.Pace{Spacing: 5 * time.Second, SpacingUntil: noon.Add(time.Minute)}}
	p := policy("app")
	for after, want := range map[time.Duration]webhook.WaitingFor{
		time.Second: webhook.WaitPace, 4999 * time.Millisecond: webhook.WaitPace, 5 * time.Second: webhook.WaitDue,
	} {
		if got := dispatch.Check(d, p, noon.Add(after)).WaitingFor; got != want {
			t.Errorf("after %s: %s", after, got)
		}
	}
	d.LastSentAt = noon.Add(time.Minute)
	if got := dispatch.Check(d, p, noon.Add(time.Minute)).WaitingFor; got != webhook.WaitDue {
		t.Errorf("after its time: %s", got)
	}
}

// TestAChangedConfigurationEndsTheHoldsItMayHaveCaused, and no others.
func TestAChangedConfigurationEndsTheHoldsItMayHaveCaused(t *testing.T) {
	d := webhook.Destination{Fingerprint: "old", Misdirected: 2}
	for _, reason := range webhook.HoldReasons() {
		d = d.WithHold(webhook.Hold{Reason: reason, Until: noon.Add(time.Hour)})
	}
	p := policy("app")
	p.Fingerprint = "new"
	kept := dispatch.TakeOver(d, p, noon)
	var left []webhook.HoldReason
	for _, h := range kept.Holds {
		left = append(left, h.Reason)
	}
	if len(left) != 3 || left[0] != webhook.HoldPaused || left[1] != webhook.HoldQuota || left[2] != webhook.HoldRetryAfter {
		t.Errorf("left: %v", left)
	}
	if kept.Misdirected != 0 || kept.Fingerprint != "new" {
		t.Errorf("state %+v", kept)
	}
	if again := dispatch.TakeOver(d, policyWith("old"), noon); len(again.Holds) != 6 {
		t.Errorf("the same configuration keeps %d holds", len(again.Holds))
	}
}

func policyWith(fingerprint string) webhook.Policy {
	p := policy("app")
	p.Fingerprint = fingerprint
	return p
}

// TestAClockThatWasWrongDoesNotStopADestinationForYears.
func TestAClockThatWasWrongDoesNotStopADestinationForYears(t *testing.T) {
	wrong := noon.AddDate(20, 0, 0)
	p := policy("app")
	p.Rate = []webhook.Rate{{N: 1, Per: time.Minute}}
	d := webhook.Destination{
		LastSentAt: wrong, RampFrom: wrong, Pace: webhook.Pace{NotBefore: wrong},
		Breaker: webhook.Breaker{OpenSince: wrong, Until: wrong},
		Retries: webhook.Window{Rate: p.RetryBudget}.Add(wrong, 30),
		Sent:    []webhook.Window{webhook.Window{Rate: p.Rate[0]}.Add(wrong, 1)},
	}
	d = d.WithHold(webhook.Hold{Reason: webhook.HoldQuota, Until: wrong})
	d = dispatch.TakeOver(d, p, noon)
	latest := noon.Add(webhook.MaxHint + 2*time.Minute)
	if gate := dispatch.Check(d, p, noon); gate.Until.After(latest) {
		t.Errorf("held until %s", gate.Until)
	}
	if next := d.Retries.Next(noon); next.After(noon.Add(time.Minute)) {
		t.Errorf("retries from %s", next)
	}
}

// TestACrashCountsWhatMayHaveBeenOut: as many requests as may have been in
// flight are counted as sent, a clean stop counts none.
func TestACrashCountsWhatMayHaveBeenOut(t *testing.T) {
	p := policy("app")
	p.Rate = []webhook.Rate{{N: 60, Per: time.Minute}, {N: 2, Per: time.Hour}}
	clean := dispatch.TakeOver(webhook.Destination{}, p, noon)
	crashed := dispatch.Recover(webhook.Destination{}, p, noon, 8)
	if clean.Retries.Left(noon) != 30 || clean.Sent[0].Left(noon) != 60 || clean.Sent[1].Left(noon) != 2 {
		t.Errorf("after a stop: %+v", clean)
	}
	if crashed.Retries.Left(noon) != 22 || crashed.Sent[0].Left(noon) != 52 || crashed.Sent[1].Left(noon) != 0 {
		t.Errorf("after a crash: %+v", crashed)
	}
	if one := dispatch.Recover(webhook.Destination{}, p, noon, 1); one.Retries.Left(noon) != 29 || one.Sent[0].Left(noon) != 59 {
		t.Errorf("after a crash with one attempt out: %+v", one)
	}
	if many := dispatch.Recover(webhook.Destination{}, p, noon, 1000); many.Retries.Left(noon) != 22 {
		t.Errorf("more were out than may be: %+v", many)
	}
}

func TestAChangedRateRemembersWhatWasSent(t *testing.T) {
	p := policy("app")
	p.Rate = []webhook.Rate{{N: 10, Per: time.Minute}, {N: 100, Per: time.Hour}}
	d := dispatch.TakeOver(webhook.Destination{}, p, noon)
	for i := range d.Sent {
		d.Sent[i] = d.Sent[i].Add(noon, 5)
	}
	p.Rate = []webhook.Rate{{N: 8, Per: time.Minute}, {N: 50, Per: 30 * time.Minute}}
	d = dispatch.TakeOver(d, p, noon.Add(time.Second))
	if left := d.Sent[0].Left(noon.Add(time.Second)); left != 3 {
		t.Errorf("%d left in the minute", left)
	}
	if left := d.Sent[1].Left(noon.Add(time.Second)); left != 45 {
		t.Errorf("%d left in the half hour", left)
	}
}
