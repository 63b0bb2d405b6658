package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"weir/webhook"
)

var modelCases = []testCase{
	{"answers like the model after any sequence of steps", func(b *bench) { b.compare(1, 400) }},
	{"answers like the model after any other sequence", func(b *bench) { b.compare(rand.Uint64(), 400) }},
}

// walkers is takes the same random steps with an engine and a model.
type walkers struct {
	*bench
	*rand.Rand
	model  *model
	owners map[string]webhook.Destination
	// out are deliveries as they were when an attempt for them began.
	out []webhook.Delivery
}

var modelDestinations = []string{"app", "second"}

// compare takes random steps and compares every answer, and now and then
// everything that can be seen.
func (b *bench) compare(seed uint64, steps int) {
	b.Logf("seed %d", seed)
	w := &walkers{
		bench: b, Rand: rand.New(rand.NewPCG(seed, 0)),
		model: &model{gates: map[string]webhook.Destination{}}, owners: map[string]webhook.Destination{},
	}
	for _, name := range modelDestinations {
		w.own(name)
	}
	for i := range steps {
		w.pass(time.Duration(w.IntN(3)) * time.Duration(w.IntN(1000)) * time.Microsecond)
		if w.IntN(50) == 0 {
			w.pass(time.Duration(w.Int64N(int64(Window))))
		}
		w.step()
		if i%20 == 0 {
			w.see()
		}
		if b.Failed() {
			b.Fatalf("seed %d, step %d", seed, i)
		}
	}
	w.see()
}

func (w *walkers) step() {
	switch n := w.IntN(20); {
	case n < 8:
		w.accept()
	case n < 11:
		w.begin()
	case n < 15:
		w.end()
	case n < 16:
		w.own(w.destination())
	case n < 17:
		w.expire()
	case n < 18:
		w.redeliver()
	default:
		w.cancel()
	}
}

func (w *walkers) destination() string { return modelDestinations[w.IntN(len(modelDestinations))] }

func (w *walkers) equal(what string, want, got any) {
	w.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		w.Errorf("%s: %s", what, diff)
	}
}

func (w *walkers) accept() {
	a := w.arrival(fmt.Sprint(w.IntN(12)), fmt.Sprint("body ", w.IntN(3)))
	a.Event.Source = []string{"github", "stripe"}[w.IntN(2)]
	a.To = modelDestinations[:1+w.IntN(2)]
	a.OnConflict = []webhook.OnConflict{webhook.RejectConflict, webhook.KeepConflict, webhook.IgnoreConflict}[w.IntN(3)]
	got, err := w.Accept(w.Context(), a)
	w.must(err)
	w.equal("accept", w.model.accept(a), got)
}

// pick returns a random delivery of the model, or false when there is none.
func (w *walkers) pick() (webhook.Delivery, bool) {
	if len(w.model.events) == 0 {
		return webhook.Delivery{}, false
	}
	e := w.model.events[w.IntN(len(w.model.events))]
	return e.Deliveries[w.IntN(len(e.Deliveries))].Delivery, true
}

// begin notes a pending delivery as in flight, if it is not.
func (w *walkers) begin() {
	d, ok := w.pick()
	flying := slices.ContainsFunc(w.out, func(o webhook.Delivery) bool {
		return o.EventID == d.EventID && o.Destination == d.Destination
	})
	if ok && !flying && d.State == webhook.Pending {
		w.out = append(w.out, d)
	}
}

// end records an attempt for one that is in flight.
func (w *walkers) end() {
	if len(w.out) == 0 {
		return
	}
	i := w.IntN(len(w.out))
	d := w.out[i]
	w.out = slices.Delete(w.out, i, i+1)
	gates := w.owners[d.Destination]
	gates.Rev, gates.Wins = w.Int64N(100), w.IntN(1000)
	outcome := webhook.Outcomes()[w.IntN(len(webhook.Outcomes()))]
	r := w.record(gates, d, outcome)
	w.must(w.Record(w.Context(), r))
	w.model.record(r)
}

func (w *walkers) own(name string) {
	got, err := w.Own(w.Context(), name)
	w.must(err)
	want := w.model.gates[name]
	want.Name, want.Epoch = name, w.owners[name].Epoch+1
	w.equal("own", want, got)
	w.owners[name] = got
	w.model.gates[name] = got
}

func (w *walkers) expire() {
	query := webhook.ExpireQuery{
		Destination: w.destination(), AgeBefore: w.now.Add(-time.Duration(w.Int64N(int64(time.Hour)))),
		Now: w.now, Detail: "too old", Limit: w.IntN(3),
	}
	got, err := w.Expire(w.Context(), query)
	w.must(err)
	w.equal("expire", w.model.expire(query), got)
}

func (w *walkers) redeliver() {
	d, ok := w.pick()
	if !ok {
		return
	}
	refused := d.State == webhook.Delivered || d.Reason == webhook.DeadTooLarge
	err := w.Redeliver(w.Context(), webhook.Redelivery{EventID: d.EventID, Destination: d.Destination, At: w.now})
	if refused {
		w.wantError(err, webhook.ErrState)
		return
	}
	w.must(err)
	w.change(d, func(d *webhook.Delivery) {
		switch {
		case d.State == webhook.Dead:
			revive(d, w.stored())
		case d.NextAttemptAt.After(w.stored()):
			d.NextAttemptAt = w.stored()
			if d.AgeFrom.After(w.stored()) {
				d.AgeFrom = w.stored()
			}
		}
	})
}

func (w *walkers) cancel() {
	d, ok := w.pick()
	if !ok || d.State != webhook.Pending {
		return
	}
	w.must(w.Cancel(w.Context(), d.EventID, d.Destination, w.now))
	w.change(d, func(d *webhook.Delivery) {
		d.State, d.Reason, d.Detail, d.FinishedAt = webhook.Dead, webhook.DeadCancelled, "", w.stored()
	})
}

// change changes a delivery of the model.
func (w *walkers) change(d webhook.Delivery, f func(*webhook.Delivery)) {
	for _, e := range w.model.events {
		if e.Event.ID == d.EventID {
			f(&e.delivery(d.Destination).Delivery)
		}
	}
}

// see compares everything that can be seen.
func (w *walkers) see() {
	w.Helper()
	for _, e := range w.model.events {
		want := e.EventDetail
		want.Event.Body = nil
		got, err := w.Event(w.Context(), want.Event.ID)
		w.must(err)
		w.equal("event", want, got)
	}
	for _, name := range modelDestinations {
		for _, which := range []webhook.DueWhich{webhook.Firsts, webhook.Retries, webhook.NewestFirsts} {
			w.seeDue(webhook.DueQuery{Destination: name, Now: w.now, Limit: 1 + w.IntN(20), Which: which})
		}
		w.seeQueue(name, w.now)
		w.seeQueue(name, w.now.Add(time.Duration(w.Int64N(int64(5*time.Minute)))-3*time.Minute))
	}
	w.seeLists()
}

func (w *walkers) seeDue(query webhook.DueQuery) {
	w.Helper()
	got, err := w.Due(w.Context(), query)
	w.must(err)
	var want webhook.DueList
	for _, e := range w.model.events {
		h := e.delivery(query.Destination)
		if h == nil || h.Delivery.State != webhook.Pending || (h.Delivery.Attempts == 0) == (query.Which == webhook.Retries) {
			continue
		}
		if at := h.Delivery.NextAttemptAt; at.After(query.Now) {
			if want.Next.IsZero() || at.Before(want.Next) {
				want.Next = at
			}
			continue
		}
		want.Deliveries = append(want.Deliveries, h.Delivery)
	}
	if query.Which == webhook.NewestFirsts {
		slices.Reverse(want.Deliveries)
	}
	slices.SortStableFunc(want.Deliveries, func(a, b webhook.Delivery) int {
		order := a.NextAttemptAt.Compare(b.NextAttemptAt)
		if query.Which == webhook.NewestFirsts {
			return -order
		}
		return order
	})
	want.Deliveries = want.Deliveries[:min(len(want.Deliveries), query.Limit)]
	w.equal("due", want, got)
}

// seeQueue compares what is counted.
func (w *walkers) seeQueue(destination string, now time.Time) {
	w.Helper()
	got, err := w.Queue(w.Context(), destination, now)
	w.must(err)
	w.equal("queue", w.model.queue(destination, now), got)
}

// seeLists compares what random filters select, page by page.
func (w *walkers) seeLists() {
	w.Helper()
	query := webhook.DeliveryQuery{Limit: 1 + w.IntN(30)}
	if w.IntN(2) == 0 {
		query.State = webhook.States()[w.IntN(3)]
	}
	if w.IntN(2) == 0 {
		query.Destination = w.destination()
	}
	if w.IntN(3) == 0 {
		query.Source = "stripe"
	}
	if w.IntN(3) == 0 {
		query.Since = w.now.Add(-time.Duration(w.Int64N(int64(time.Minute))))
	}
	var want, got []string
	for _, e := range w.model.events {
		for _, h := range e.Deliveries {
			d := h.Delivery
			if (query.State == "" || d.State == query.State) && (query.Destination == "" || d.Destination == query.Destination) &&
				(query.Source == "" || d.Source == query.Source) && !e.Event.ReceivedAt.Before(query.Since) {
				want = append(want, d.EventID.String()+d.Destination)
			}
		}
	}
	// The model's events are in the order of receipt, and so are their ids.
	slices.SortStableFunc(want, func(a, b string) int { return cmp.Or(cmp.Compare(b[:36], a[:36]), cmp.Compare(a, b)) })
	for {
		page, err := w.Deliveries(w.Context(), query)
		w.must(err)
		for _, d := range page.Items {
			got = append(got, d.EventID.String()+d.Destination)
		}
		if query.After = page.Next; query.After == "" {
			break
		}
	}
	w.equal("deliveries", want, got)
}
