package handler

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/webhook"
)

// h0 is a moment for tests.
var h0 = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newID(t testing.TB) webhook.ID {
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return webhook.ID(id)
}

func TestStatsCountByTheMinute(t *testing.T) {
	s := NewStats()
	for i, result := range []webhook.Result{
		webhook.ResultAccepted, webhook.ResultAccepted, webhook.ResultDuplicate, webhook.ResultBadSignature, webhook.ResultChallenge,
	} {
		s.observe(Observation{Source: "a", Result: result, At: h0.Add(time.Duration(i) * time.Second)})
	}
	event := newID(t)
	s.Attempted(event, webhook.Attempt{Number: 1, At: h0, Outcome: webhook.OutcomeTransient})
	s.Attempted(event, webhook.Attempt{Number: 2, At: h0.Add(time.Minute), Outcome: webhook.OutcomeRateLimited})
	s.Attempted(event, webhook.Attempt{Number: 3, At: h0.Add(time.Minute), Probe: true, Outcome: webhook.OutcomeDelivered})
	view := s.view(h0.Add(2*time.Minute), 3)
	if len(view.Minutes) != 3 || !time.Time(view.Minutes[0].At).Equal(h0) {
		t.Fatalf("minutes %+v", view.Minutes)
	}
	first := totalsView{Received: 5, Accepted: 2, Duplicates: 1, Refused: 1, FirstSends: 1, Outgoing: 1}
	second := totalsView{Retries: 1, Probes: 1, Delivered: 1, Outgoing: 2}
	if view.Minutes[0].totalsView != first || view.Minutes[1].totalsView != second || view.Minutes[2].totalsView != (totalsView{}) {
		t.Errorf("minutes %+v", view.Minutes)
	}
	if view.Amplification == nil || *view.Amplification != 3 || *view.Minutes[1].Amplification != 2 || view.Minutes[2].Amplification != nil {
		t.Errorf("amplification %v", view.Amplification)
	}
	if !time.Time(view.CountedSince).Equal(s.Since()) || s.Since().IsZero() {
		t.Errorf("counted since %v, not %v", view.CountedSince, s.Since())
	}
	if view.Totals.Outgoing != 3 || view.Totals.Received != 5 {
		t.Errorf("totals %+v", view.Totals)
	}
}

func TestStatsForgetAfterADay(t *testing.T) {
	s := NewStats()
	s.observe(Observation{Source: "a", Result: webhook.ResultAccepted, At: h0})
	tomorrow := h0.Add(24 * time.Hour)
	if got := s.view(tomorrow, keepMinutes).Totals.Received; got != 0 {
		t.Errorf("after a day %d", got)
	}
	s.observe(Observation{Source: "a", Result: webhook.ResultAccepted, At: tomorrow})
	if got := s.view(tomorrow, keepMinutes).Totals.Received; got != 1 {
		t.Errorf("in the same place of the ring %d", got)
	}
}

func TestSketchCountsNearlyRight(t *testing.T) {
	for _, n := range []int{0, 1, 10, 100, 1000, 20000} {
		k := &sketch{}
		for range n {
			id := newID(t)
			k.add(id)
			k.add(id)
		}
		if got := k.count(); math.Abs(got-float64(n)) > 1+0.04*float64(n) {
			t.Errorf("%d events counted as %.1f", n, got)
		}
	}
}

func TestMinutesAreThoseOfTheStatsOldestFirst(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 27, 11, 0, time.UTC)
	stats := NewStats()
	stats.observe(Observation{Source: "github", Result: webhook.ResultAccepted, Secret: noSecret, At: now.Add(-time.Minute)})
	stats.observe(Observation{Source: "github", Result: webhook.ResultDuplicate, Secret: noSecret, At: now})
	stats.Attempted(webhook.ID{1}, webhook.Attempt{Number: 2, At: now, Outcome: webhook.OutcomeDelivered})
	got := stats.Minutes(now, 2)
	want := []webhook.Minute{
		{At: now.Add(-time.Minute).Truncate(time.Minute), Received: 1, Accepted: 1},
		{At: now.Truncate(time.Minute), Received: 1, Duplicates: 1, Retries: 1, Delivered: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(stats.Minutes(now, 1_000_000)); n != keepMinutes {
		t.Errorf("%d minutes, want a day at most", n)
	}
	if n := len(stats.Minutes(now, -1)); n != 0 {
		t.Errorf("%d minutes for a negative number", n)
	}
}
