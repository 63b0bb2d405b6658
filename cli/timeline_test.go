package cli

import (
	"testing"

	"weir/cli/client"
	"weir/webhook"
)

// TestRemarksTellWhatAnAttemptRestsOn.
func TestRemarksTellWhatAnAttemptRestsOn(t *testing.T) {
	other := webhook.ID{15: 7}
	for want, a := range map[string]client.Attempt{
		"":                                     {SentTo: "app", Spent: true},
		", a probe, not counted":               {SentTo: "app", Probe: true},
		", presumed from the status alone":     {SentTo: "app", Spent: true, Presumed: true},
		", sent to spare instead, signed anew": {SentTo: "spare", Spent: true, Renewed: true},
		", not counted, witness for " + other.String(): {SentTo: "app", WitnessFor: &other},
	} {
		if got := remarks(client.Delivery{Destination: "app"}, a); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
