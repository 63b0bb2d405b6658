package service

import (
	"strings"
	"testing"
	"time"

	"weir/webhook"
)

func TestStalledIsWhatNothingGetsThroughTo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	since, old, fresh := now.Add(-10*time.Minute), now.Add(-11*time.Minute), now.Add(-time.Minute)
	down := webhook.Destination{Breaker: webhook.Breaker{InARow: 1}}
	held := webhook.Destination{Holds: []webhook.Hold{{Reason: webhook.HoldRetryAfter}}}
	for name, c := range map[string]struct {
		queue webhook.Queue
		to    webhook.Destination
		says  string
	}{
		"nothing waits":                  {webhook.Queue{}, down, ""},
		"long due":                       {webhook.Queue{OldestDue: old, Oldest: old}, webhook.Destination{}, "oldest due delivery"},
		"due a short time":               {webhook.Queue{OldestDue: fresh, Oldest: fresh}, down, ""},
		"retried again and again":        {webhook.Queue{Oldest: old}, down, "nothing has got through"},
		"behind a breaker":               {webhook.Queue{Oldest: old}, webhook.Destination{Breaker: webhook.Breaker{OpenSince: fresh}}, "nothing has got through"},
		"behind a hold":                  {webhook.Queue{OldestDue: fresh, Oldest: old}, held, "nothing has got through"},
		"one that fails among others":    {webhook.Queue{Oldest: old}, webhook.Destination{LastSuccess: fresh}, ""},
		"a failure after some successes": {webhook.Queue{Oldest: old}, webhook.Destination{LastSuccess: fresh, Breaker: down.Breaker}, ""},
		"no success for long":            {webhook.Queue{Oldest: old}, webhook.Destination{LastSuccess: old, Breaker: down.Breaker}, "nothing has got through"},
		"began to wait a moment ago":     {webhook.Queue{Oldest: fresh}, held, ""},
	} {
		said := stalled(c.queue, c.to, since)
		if (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q, want %q", name, said, c.says)
		}
	}
}
