package webhook_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

func TestWhatIsPendingIsSplitAsTheGatesSplitIt(t *testing.T) {
	out := []webhook.ID{{1}}
	budget := webhook.Policy{RetryBudget: webhook.Rate{N: 5, Per: time.Minute}}
	for _, c := range []struct {
		name   string
		queue  webhook.Queue
		status webhook.Status
		want   map[webhook.WaitingFor]int
	}{
		{"nothing", webhook.Queue{}, webhook.Status{}, map[webhook.WaitingFor]int{}},
		{
			"open", webhook.Queue{Pending: 5, Due: 3}, webhook.Status{InFlight: out},
			map[webhook.WaitingFor]int{webhook.WaitInFlight: 1, webhook.WaitDue: 2, webhook.WaitBackoff: 2},
		},
		{
			"set aside", webhook.Queue{Pending: 5, Due: 3, Refused: 1}, webhook.Status{InFlight: out},
			map[webhook.WaitingFor]int{webhook.WaitInFlight: 1, webhook.WaitDue: 2, webhook.WaitRefused: 1, webhook.WaitBackoff: 1},
		},
		{
			"held", webhook.Queue{Pending: 5, Due: 3},
			webhook.Status{InFlight: out, Gate: webhook.Gate{WaitingFor: webhook.WaitQuota}},
			map[webhook.WaitingFor]int{webhook.WaitInFlight: 1, webhook.WaitQuota: 4},
		},
		{
			"no budget", webhook.Queue{Pending: 5, Due: 3, Retries: 2, DueRetries: 1}, webhook.Status{Policy: budget},
			map[webhook.WaitingFor]int{webhook.WaitBudget: 2, webhook.WaitDue: 2, webhook.WaitBackoff: 1},
		},
		{
			"budget left", webhook.Queue{Pending: 2, Due: 2, Retries: 2, DueRetries: 2},
			webhook.Status{Policy: budget, RetriesLeft: 1}, map[webhook.WaitingFor]int{webhook.WaitDue: 2},
		},
		{
			"full", webhook.Queue{Pending: 3, Due: 3}, webhook.Status{Full: true, InFlight: out},
			map[webhook.WaitingFor]int{webhook.WaitInFlight: 1, webhook.WaitPace: 2},
		},
		{
			"counts that do not fit", webhook.Queue{Pending: 1, Due: 9, Retries: 9, DueRetries: 9},
			webhook.Status{InFlight: []webhook.ID{{}, {}, {}}, Policy: budget},
			map[webhook.WaitingFor]int{webhook.WaitInFlight: 1},
		},
	} {
		got := c.queue.ByWait(c.status)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		sum := 0
		for _, n := range got {
			sum += n
		}
		if sum != c.queue.Pending {
			t.Errorf("%s: %d are split of %d", c.name, sum, c.queue.Pending)
		}
	}
}

func TestSlotsStayWithinConcurrency(t *testing.T) {
	for _, c := range []struct{ concurrency, slots, want int }{{4, 0, 4}, {4, 2, 2}, {2, 4, 2}} {
		policy := webhook.Policy{Concurrency: c.concurrency}
		if got := policy.Slots(webhook.Destination{Slots: c.slots}); got != c.want {
			t.Errorf("%d slots of %d: %d, want %d", c.slots, c.concurrency, got, c.want)
		}
	}
}
