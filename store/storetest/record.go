package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

var gatesCases = []testCase{
	{"begin with nothing but a name and an epoch", func(b *bench) {
		if diff := cmp.Diff(webhook.Destination{Name: "app", Epoch: 1}, b.own()); diff != "" {
			b.Error(diff)
		}
	}},
	{"come back as they were saved, with a higher epoch", func(b *bench) {
		gates := b.gates(b.own())
		b.must(b.Save(b.Context(), gates))
		want := gates
		want.Epoch++
		if diff := cmp.Diff(want, b.own()); diff != "" {
			b.Error(diff)
		}
	}},
	{"an owner that was replaced can neither save nor record", func(b *bench) {
		id := b.event("k")
		late := b.own()
		late.Rev = 100
		present := b.own()
		b.wantError(b.Save(b.Context(), late), webhook.ErrFenced)
		b.wantError(b.Record(b.Context(), b.record(late, b.delivery(id), webhook.OutcomeDelivered)), webhook.ErrFenced)
		if d := b.delivery(id); d.State != webhook.Pending || d.Attempts != 0 {
			b.Errorf("delivery %+v, want it untouched", d)
		}
		next := b.own()
		if next.Rev != present.Rev {
			b.Errorf("rev %d, want %d", next.Rev, present.Rev)
		}
	}},
	{"keep the highest rev whatever order it comes in", func(b *bench) {
		gates := b.own()
		revs := rand.New(rand.NewPCG(1, 2)).Perm(40)
		for _, rev := range revs {
			changed := gates
			changed.Rev, changed.Fingerprint = int64(rev), fmt.Sprint(rev)
			b.must(b.Save(b.Context(), changed))
		}
		if got := b.own(); got.Rev != 39 || got.Fingerprint != "39" {
			b.Errorf("rev %d with %q, want 39", got.Rev, got.Fingerprint)
		}
	}},
}

// gates fills a destination's state with something everywhere that matters.
func (b *bench) gates(d webhook.Destination) webhook.Destination {
	at, n := b.stored(), int64(99299)
	d.Rev++
	d.Fingerprint = "print"
	d = d.WithHold(webhook.Hold{
		Reason: webhook.HoldQuota, Since: at, Until: at.Add(time.Hour), From: "Retry-After", Probes: 3, Step: 2,
		NeedsOperator: true, Status: 429, Rule: "rule",
		Evidence: webhook.Evidence{Used: &n, Window: "day", Body: "ä", Headers: map[string]string{"A": "b"}},
	})
	d.Breaker = webhook.Breaker{OpenSince: at, Until: at, Trials: 1, Step: 2, InARow: 3, Recent: []webhook.Tally{{At: at, Failures: 1}}}
	d.Retries = webhook.Window{Rate: webhook.Rate{N: 30, Per: time.Minute}}.Add(at, 2)
	d.Sent = []webhook.Window{webhook.Window{Rate: webhook.Rate{N: 5000, Per: 24 * time.Hour}}.Add(at, 7)}
	d.Pace = webhook.Pace{NotBefore: at, Spacing: 1500 * time.Microsecond, SpacingUntil: at}
	d.RampFrom, d.LastSentAt, d.LastSuccess, d.LastProbed = at, at, at, b.newID()
	d.Sizes = webhook.Sizes{LargestAccepted: 1, SmallestRefused: 2}
	d.Holds[0].Basis = webhook.BasisPresumed
	d.Suspicion = webhook.Suspicion{
		Reason: webhook.HoldQuota, Event: b.newID(), Destination: "app", Source: "github", Body: 1<<64 - 1, WitnessFrom: at,
	}
	d.Doubted = []webhook.ID{b.newID(), b.newID()}
	d.Refusals = webhook.Refusals{
		Fingerprint: "words", Settled: "others",
		Events: []webhook.Refused{{Event: b.newID(), Destination: "app", Source: "github", Body: 1<<63 + 1}},
	}
	return d
}

var recordCases = []testCase{
	{"keeps every field of an attempt and of the state", func(b *bench) {
		id := b.event("k")
		gates := b.gates(b.own())
		n := int64(100000)
		d := b.delivery(id)
		d.State, d.Reason, d.Detail = webhook.Dead, webhook.DeadMisdirected, "a sentence"
		d.Attempts, d.Spent, d.Misdirected, d.Refusals, d.Forced = 7, 5, 3, 2, true
		d.NextAttemptAt, d.FinishedAt = b.stored().Add(time.Second), b.stored().Add(2*time.Second)
		attempt := webhook.Attempt{
			Number: 7, At: b.stored(), Duration: 132_000_001, SentTo: "spare", Outcome: webhook.OutcomeMisdirected,
			Status: 404, Spent: true, Probe: true, Hint: webhook.Hint{Wait: 30*time.Second + 1, From: "Retry-After"},
			Rule: "rule", Decision: webhook.Dead, NextAttemptAt: b.stored().Add(time.Hour),
			Evidence: webhook.Evidence{Limit: &n, Requested: &n, Window: "day", Body: "näh", Note: "note", Headers: map[string]string{"Server": "x"}},
			Presumed: true, Renewed: true, WitnessFor: b.newID(),
		}
		b.must(b.Record(b.Context(), webhook.Record{Attempt: &attempt, Delivery: d, Gates: gates, Epoch: gates.Epoch}))
		detail, err := b.Event(b.Context(), id)
		b.must(err)
		want := []webhook.History{{Delivery: d, Attempts: []webhook.Attempt{attempt}}}
		if diff := cmp.Diff(want, detail.Deliveries); diff != "" {
			b.Error(diff)
		}
		gates.Epoch++
		if diff := cmp.Diff(gates, b.own()); diff != "" {
			b.Error(diff)
		}
	}},
	{"keeps a state without an attempt and without gates", func(b *bench) {
		id := b.event("k")
		d := b.delivery(id)
		d.State, d.Reason, d.Detail, d.FinishedAt = webhook.Dead, webhook.DeadTooLarge, "over MAX_BODY", b.stored()
		b.must(b.Record(b.Context(), webhook.Record{Delivery: d, Epoch: b.own().Epoch}))
		if diff := cmp.Diff(d, b.delivery(id)); diff != "" {
			b.Error(diff)
		}
	}},
	{"knows nothing of a delivery that does not exist", func(b *bench) {
		id, gates := b.event("k"), b.own()
		d := b.delivery(id)
		d.EventID = b.newID()
		b.wantError(b.Record(b.Context(), b.record(gates, d, webhook.OutcomeDelivered)), webhook.ErrNotFound)
	}},
	{"refuses a state that cannot be", func(b *bench) {
		id, gates := b.event("k"), b.own()
		before := b.delivery(id)
		for name, spoil := range map[string]func(*webhook.Delivery){
			"no such state":           func(d *webhook.Delivery) { d.State = "lost" },
			"dead without a reason":   func(d *webhook.Delivery) { d.State, d.FinishedAt = webhook.Dead, b.now },
			"pending with a reason":   func(d *webhook.Delivery) { d.Reason = webhook.DeadExpired },
			"pending but finished":    func(d *webhook.Delivery) { d.FinishedAt = b.now },
			"delivered, not finished": func(d *webhook.Delivery) { d.State = webhook.Delivered },
		} {
			r := b.record(gates, before, webhook.OutcomeTransient)
			spoil(&r.Delivery)
			if err := b.Record(b.Context(), r); err == nil {
				b.Errorf("%s: no error", name)
			}
		}
		if diff := cmp.Diff(before, b.delivery(id)); diff != "" {
			b.Error(diff)
		}
	}},
	{"asked again changes nothing more", func(b *bench) {
		id, gates := b.event("k"), b.own()
		r := b.record(gates, b.delivery(id), webhook.OutcomeTransient)
		b.must(b.Record(b.Context(), r))
		b.must(b.Record(b.Context(), r))
		b.wantHistory(id, 1)
		later := b.record(gates, b.delivery(id), webhook.OutcomeDelivered)
		b.must(b.Record(b.Context(), later))
		b.must(b.Record(b.Context(), r))
		if d := b.delivery(id); d.State != webhook.Delivered || d.Attempts != 2 {
			b.Errorf("delivery %+v, want the later state", d)
		}
	}},
	{"numbers of attempts are unique", func(b *bench) {
		id, gates := b.event("k"), b.own()
		d := b.delivery(id)
		b.try(gates, d, webhook.OutcomeTransient)
		b.pass(time.Second)
		b.try(gates, d, webhook.OutcomeTransient)
		b.wantHistory(id, 1, 2)
		if got := b.delivery(id).Attempts; got != 2 {
			b.Errorf("%d attempts, want 2", got)
		}
	}},
	{"attempts may be recorded in another order than they were made", func(b *bench) {
		id, gates := b.event("k"), b.own()
		d := b.delivery(id)
		first := b.record(gates, d, webhook.OutcomeTransient)
		d.Attempts = 1
		b.must(b.Record(b.Context(), b.record(gates, d, webhook.OutcomeTransient)))
		b.must(b.Record(b.Context(), first))
		b.wantHistory(id, 1, 2)
		if got := b.delivery(id).Attempts; got != 2 {
			b.Errorf("%d attempts, want 2", got)
		}
	}},
	{"what is final stays as it is, and the attempt is kept", func(b *bench) {
		id, gates := b.event("k"), b.own()
		out := b.delivery(id)
		b.must(b.Cancel(b.Context(), id, "app", b.now))
		before := b.delivery(id)
		b.try(gates, out, webhook.OutcomeTransient)
		before.Attempts = 1
		if diff := cmp.Diff(before, b.delivery(id)); diff != "" {
			b.Error(diff)
		}
		b.wantHistory(id, 1)
	}},
	{"a success counts although the delivery was cancelled meanwhile", func(b *bench) {
		id, gates := b.event("k"), b.own()
		out := b.delivery(id)
		b.must(b.Cancel(b.Context(), id, "app", b.now))
		b.try(gates, out, webhook.OutcomeDelivered)
		if d := b.delivery(id); d.State != webhook.Delivered || d.Reason != "" {
			b.Errorf("delivery %+v, want delivered", d)
		}
	}},
	{"a success counts although the delivery expired meanwhile", func(b *bench) {
		id, gates := b.event("k"), b.own()
		out := b.delivery(id)
		_, err := b.Expire(b.Context(), webhook.ExpireQuery{Destination: "app", AgeBefore: b.stored(), Now: b.now, Limit: 1})
		b.must(err)
		b.try(gates, out, webhook.OutcomeDelivered)
		if d := b.delivery(id); d.State != webhook.Delivered {
			b.Errorf("delivery %+v, want delivered", d)
		}
	}},
	{"a success does not revive what was refused", func(b *bench) {
		id, gates := b.event("k"), b.own()
		out := b.delivery(id)
		b.try(gates, out, webhook.OutcomeRejected)
		out.Attempts = 1
		b.pass(time.Second)
		b.try(gates, out, webhook.OutcomeDelivered)
		if d := b.delivery(id); d.Reason != webhook.DeadRejected {
			b.Errorf("delivery %+v, want rejected still", d)
		}
		b.wantHistory(id, 1, 2)
	}},
	{"a fresh allowance is not spent by an attempt from before", func(b *bench) {
		id, gates := b.event("k"), b.own()
		out := b.delivery(id)
		b.must(b.Cancel(b.Context(), id, "app", b.now))
		b.pass(time.Minute)
		b.must(b.Redeliver(b.Context(), webhook.Redelivery{EventID: id, Destination: "app", At: b.now}))
		want := b.delivery(id)
		b.try(gates, out, webhook.OutcomeRejected)
		want.Attempts = 1
		if diff := cmp.Diff(want, b.delivery(id)); diff != "" {
			b.Error(diff)
		}
	}},
	{"fences the owners of both destinations of a fallback", func(b *bench) {
		id, home := b.event("k"), b.own()
		spare, err := b.Own(b.Context(), "spare")
		b.must(err)
		spare.Rev++
		r := b.record(spare, b.delivery(id), webhook.OutcomeTransient)
		r.Attempt.SentTo, r.Epoch = "spare", home.Epoch
		b.must(b.Record(b.Context(), r))
		_, err = b.Own(b.Context(), "spare")
		b.must(err)
		r = b.record(spare, b.delivery(id), webhook.OutcomeTransient)
		r.Epoch = home.Epoch
		b.wantError(b.Record(b.Context(), r), webhook.ErrFenced)
		b.wantHistory(id, 1)
	}},
	{"sets another delivery aside that is refused alone, once", func(b *bench) {
		alone, taken, gates := b.event("alone"), b.event("taken"), b.own()
		b.try(gates, b.delivery(alone), webhook.OutcomeAuth)
		want := b.delivery(alone)
		r := b.record(gates, b.delivery(taken), webhook.OutcomeDelivered)
		r.Aside = []webhook.Revision{
			{EventID: alone, Destination: "app", NextAttemptAt: b.stored().Add(time.Minute), Detail: "others are taken"},
			{EventID: b.newID(), Destination: "app", NextAttemptAt: b.stored()}, // nobody knows it any more
		}
		b.must(b.Record(b.Context(), r))
		want.Refusals, want.NextAttemptAt, want.Detail = 1, b.stored().Add(time.Minute), "others are taken"
		if diff := cmp.Diff(want, b.delivery(alone)); diff != "" {
			b.Error(diff)
		}
		queue, err := b.Queue(b.Context(), "app", b.now)
		b.must(err)
		if queue.Refused != 1 {
			b.Errorf("%d are set aside, want 1", queue.Refused)
		}
		b.pass(time.Second)
		again := b.record(gates, b.delivery(b.event("other")), webhook.OutcomeDelivered)
		again.Aside = []webhook.Revision{{EventID: alone, Destination: "app", NextAttemptAt: b.stored().Add(time.Hour)}}
		b.must(b.Record(b.Context(), again))
		if diff := cmp.Diff(want, b.delivery(alone)); diff != "" {
			b.Errorf("set aside twice: %s", diff)
		}
		b.must(b.Cancel(b.Context(), alone, "app", b.now))
		b.must(b.Redeliver(b.Context(), webhook.Redelivery{EventID: alone, Destination: "app", At: b.now}))
		if d := b.delivery(alone); d.Refusals != 0 {
			b.Errorf("a redelivery begins with %d refusals", d.Refusals)
		}
	}},
	{"reopens what died of a rejection that was none of its own", func(b *bench) {
		dead, cancelled := b.finish("dead", webhook.OutcomeRejected), b.event("cancelled")
		gates := b.own()
		b.must(b.Cancel(b.Context(), cancelled, "app", b.now))
		want, kept := b.delivery(dead), b.delivery(cancelled)
		b.pass(time.Second)
		last := b.event("last")
		r := b.record(gates, b.delivery(last), webhook.OutcomeAuth)
		r.Reopen = []webhook.Revision{
			{EventID: dead, Destination: "app", NextAttemptAt: b.stored()},
			{EventID: cancelled, Destination: "app", NextAttemptAt: b.stored()},
		}
		b.must(b.Record(b.Context(), r))
		want.State, want.Reason, want.FinishedAt = webhook.Pending, "", time.Time{}
		want.NextAttemptAt, want.Spent = b.stored(), max(want.Spent-1, 0)
		if diff := cmp.Diff(want, b.delivery(dead)); diff != "" {
			b.Error(diff)
		}
		if diff := cmp.Diff(kept, b.delivery(cancelled)); diff != "" {
			b.Error(diff)
		}
		b.try(gates, b.delivery(dead), webhook.OutcomeDelivered)
		b.must(b.Record(b.Context(), r)) // its answer was lost
		if d := b.delivery(dead); d.State != webhook.Delivered {
			b.Errorf("asked again reopens what was delivered: %+v", d)
		}
	}},
	{"dies refused", func(b *bench) {
		id, gates := b.event("k"), b.own()
		r := b.record(gates, b.delivery(id), webhook.OutcomeRejected)
		r.Delivery.Reason, r.Delivery.Refusals = webhook.DeadRefused, 10
		b.must(b.Record(b.Context(), r))
		if d := b.delivery(id); d.Reason != webhook.DeadRefused || d.Refusals != 10 {
			b.Errorf("delivery %+v", d)
		}
	}},
	{"many at once keep the newest gates", func(b *bench) {
		gates := b.own()
		const n = 60
		records := make([]webhook.Record, n)
		for i := range records {
			id := b.event(fmt.Sprint(i))
			changed := gates
			changed.Rev, changed.Fingerprint = int64(i+1), fmt.Sprint(i+1)
			records[i] = b.record(changed, b.delivery(id), webhook.OutcomeDelivered)
		}
		b.together(n, func(i int) error { return b.Record(b.Context(), records[i]) })
		if got := b.own(); got.Rev != n || got.Fingerprint != fmt.Sprint(n) {
			b.Errorf("rev %d with %q, want %d", got.Rev, got.Fingerprint, n)
		}
		queue, err := b.Queue(b.Context(), "app", b.now)
		b.must(err)
		if queue.Pending != 0 {
			b.Errorf("%d pending, want none", queue.Pending)
		}
	}},
}

// wantHistory checks the numbers of the attempts of an event's delivery.
func (b *bench) wantHistory(id webhook.ID, want ...int) {
	b.Helper()
	detail, err := b.Event(b.Context(), id)
	b.must(err)
	var numbers []int
	for _, a := range detail.Deliveries[0].Attempts {
		numbers = append(numbers, a.Number)
	}
	if diff := cmp.Diff(want, numbers); diff != "" {
		b.Errorf("attempts: %s", diff)
	}
}
