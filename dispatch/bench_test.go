package dispatch_test

import (
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// busy is a destination with everything in it that costs time to look at.
func busy() (dispatch.Sent, time.Time) {
	in := sent(webhook.Answer{Outcome: webhook.OutcomeRateLimited, Status: 429, Hint: webhook.Hint{Wait: time.Minute, From: "Retry-After"}})
	in.Policy.Rate = []webhook.Rate{{N: 60, Per: time.Minute}, {N: 5000, Per: 24 * time.Hour}}
	in.To = dispatch.TakeOver(in.To, in.Policy, noon.Add(-time.Hour))
	for i := range 60 {
		at := noon.Add(-time.Minute + time.Duration(i)*time.Second)
		in.To.Retries = in.To.Retries.Add(at, 1)
		for j := range in.To.Sent {
			in.To.Sent[j] = in.To.Sent[j].Add(at, 1)
		}
	}
	return in, noon
}

func BenchmarkDecide(b *testing.B) {
	in, _ := busy()
	b.ReportAllocs()
	for b.Loop() {
		dispatch.Decide(in, never)
	}
}

func BenchmarkCheck(b *testing.B) {
	in, now := busy()
	b.ReportAllocs()
	for b.Loop() {
		dispatch.Check(in.To, in.Policy, now)
	}
}

func BenchmarkWindowAdd(b *testing.B) {
	in, now := busy()
	b.ReportAllocs()
	for b.Loop() {
		in.To.Sent[0].Add(now, 1)
	}
}
