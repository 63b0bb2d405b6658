package handler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

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
