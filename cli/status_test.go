package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/cli/client"
	"weir/webhook"
)

func TestStatusPromisesNoRequestThatNeverGoes(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 53, 0, 0, time.UTC)
	later, before := now.Add(17*time.Second), now.Add(-55*time.Second)
	for _, c := range []struct {
		name    string
		pending int
		until   time.Time
		want    string
	}{
		{"until somebody acts", 1, time.Time{}, "none until an operator resumes it"},
		{"a delivery waits", 1, later, "one request 10:53:17Z (in 17s)"},
		{"a delivery waits, and its time has come", 1, before, "one request, with the next delivery that is due"},
		{"nothing waits", 0, later, "one request, with the next event after 10:53:17Z (in 17s)"},
		{"nothing waits, and the time has passed", 0, before, "one request, with the next event"},
		{"nothing waits, and the time is there", 0, now, "one request, with the next event"},
	} {
		d := client.Destination{Name: "app"}
		d.Queue.Pending = c.pending
		if diff := cmp.Diff(c.want, nextRequest(d, c.until, now)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestStatusNamesTheTimeThatItsCountsAreOf(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 53, 0, 0, time.UTC)
	for want, since := range map[string]time.Time{
		"since the start at 10:41:00Z (12m00s ago)": now.Add(-12 * time.Minute),
		"the last hour": now.Add(-time.Hour),
	} {
		if got := stretch(since, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := stretch(time.Time{}, now); got != "the last hour" {
		t.Errorf("a service that does not say since when it counts: %q", got)
	}
}

func TestWhatAFallbackTookIsToldOfTheFallback(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 53, 0, 0, time.UTC)
	for want, attempts := range map[string][]client.Attempt{
		"app: delivered 10:53:00Z (now), 2 attempts; its fallback took it: spare": {{SentTo: "app"}, {SentTo: "spare"}},
		"app: delivered 10:53:00Z (now), 2 attempts":                              {{SentTo: "spare"}, {SentTo: "app"}},
		"app: delivered 10:53:00Z (now), 2 attempts ":                             nil,
	} {
		d := client.Delivery{Destination: "app", State: webhook.Delivered, FinishedAt: now, AttemptCount: 2, Attempts: attempts}
		if diff := cmp.Diff(strings.TrimSpace(want), summary(d, now)); diff != "" {
			t.Error(diff)
		}
	}
}
