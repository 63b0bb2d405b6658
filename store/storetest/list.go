package storetest

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

// population fills a store: 30 events of two sources, a second apart, of which
// the odd ones also go to "second". Event i is
// delivered (i%3 = 0), rejected (1) or pending (2) at "app".
func (b *bench) population() {
	b.Helper()
	for i := range 30 {
		a := b.arrival(fmt.Sprint(i), "body")
		a.Event.Source = []string{"github", "stripe"}[i%2]
		if i%2 == 1 {
			a.To = append(a.To, "second")
		}
		b.accept(a, webhook.ResultAccepted)
		switch i % 3 {
		case 0:
			b.try(b.own(), b.delivery(a.Event.ID), webhook.OutcomeDelivered)
		case 1:
			b.try(b.own(), b.delivery(a.Event.ID), webhook.OutcomeRejected)
		}
		b.pass(time.Second)
	}
}

// eventKeys reads every page of a query.
func (b *bench) eventKeys(query webhook.EventQuery) []string {
	b.Helper()
	var keys []string
	for range 1000 {
		page, err := b.Events(b.Context(), query)
		b.must(err)
		for _, item := range page.Items {
			keys = append(keys, item.Event.Key)
			if item.Event.Body != nil || item.Event.BodyGone || len(item.Event.Header) == 0 {
				b.Errorf("item %+v, want a header and no body", item.Event)
			}
		}
		if query.After = page.Next; query.After == "" {
			return keys
		}
	}
	b.Fatal("the pages have no end")
	return nil
}

// deliveryKeys reads every page of a query: event's key and destination.
func (b *bench) deliveryKeys(query webhook.DeliveryQuery) []string {
	b.Helper()
	var keys []string
	for range 1000 {
		page, err := b.Deliveries(b.Context(), query)
		b.must(err)
		for _, d := range page.Items {
			event, _, err := b.Load(b.Context(), d.EventID, d.Destination)
			b.must(err)
			keys = append(keys, event.Key+" "+d.Destination)
		}
		if query.After = page.Next; query.After == "" {
			return keys
		}
	}
	b.Fatal("the pages have no end")
	return nil
}

// numbers lists the keys of the population's events, newest first, that fit.
func numbers(fits func(i int) bool) []string {
	var keys []string
	for i := 29; i >= 0; i-- {
		if fits(i) {
			keys = append(keys, fmt.Sprint(i))
		}
	}
	return keys
}

// pairs is numbers for deliveries.
func pairs(fits func(i int, destination string) bool) []string {
	var keys []string
	for i := 29; i >= 0; i-- {
		for _, destination := range []string{"app", "second"} {
			if (destination == "app" || i%2 == 1) && fits(i, destination) {
				keys = append(keys, fmt.Sprint(i, " ", destination))
			}
		}
	}
	return keys
}

var eventFilters = []struct {
	name  string
	query webhook.EventQuery
	fits  func(i int) bool
}{
	{"all", webhook.EventQuery{}, func(int) bool { return true }},
	{"of a source", webhook.EventQuery{Source: "stripe"}, func(i int) bool { return i%2 == 1 }},
	{"of no such source", webhook.EventQuery{Source: "none"}, func(int) bool { return false }},
	{"by key", webhook.EventQuery{Key: "7"}, func(i int) bool { return i == 7 }},
	{"by key and source", webhook.EventQuery{Key: "7", Source: "stripe"}, func(i int) bool { return i == 7 }},
	{"by key of another source", webhook.EventQuery{Key: "7", Source: "github"}, func(int) bool { return false }},
	{"by key and state", webhook.EventQuery{Key: "7", State: webhook.Delivered}, func(int) bool { return false }},
	{"pending", webhook.EventQuery{State: webhook.Pending}, func(i int) bool { return i%3 == 2 || i%2 == 1 }},
	{"pending at app", webhook.EventQuery{State: webhook.Pending, Destination: "app"}, func(i int) bool { return i%3 == 2 }},
	{"pending of a source", webhook.EventQuery{State: webhook.Pending, Source: "github"}, func(i int) bool { return i%3 == 2 && i%2 == 0 }},
	{"dead", webhook.EventQuery{State: webhook.Dead}, func(i int) bool { return i%3 == 1 }},
	{"dead at second", webhook.EventQuery{State: webhook.Dead, Destination: "second"}, func(int) bool { return false }},
	{"delivered", webhook.EventQuery{State: webhook.Delivered}, func(i int) bool { return i%3 == 0 }},
	{"delivered of a source", webhook.EventQuery{State: webhook.Delivered, Source: "stripe"}, func(i int) bool { return i%6 == 3 }},
	{"for a destination", webhook.EventQuery{Destination: "second"}, func(i int) bool { return i%2 == 1 }},
	{"since", webhook.EventQuery{Since: webhook.Ceil(noon.Add(10 * time.Second))}, func(i int) bool { return i >= 10 }},
	{"since a moment later", webhook.EventQuery{Since: webhook.Ceil(noon.Add(10 * time.Second)).Add(1)}, func(i int) bool { return i > 10 }},
	{"until", webhook.EventQuery{Until: webhook.Ceil(noon.Add(10 * time.Second))}, func(i int) bool { return i < 10 }},
	{"until a moment later", webhook.EventQuery{Until: webhook.Ceil(noon.Add(10 * time.Second)).Add(1)}, func(i int) bool { return i <= 10 }},
	{"between, dead", webhook.EventQuery{State: webhook.Dead, Since: noon.Add(5 * time.Second), Until: noon.Add(20 * time.Second)},
		func(i int) bool { return i%3 == 1 && i >= 5 && i < 20 }},
}

var deliveryFilters = []struct {
	name  string
	query webhook.DeliveryQuery
	fits  func(i int, destination string) bool
}{
	{"all", webhook.DeliveryQuery{}, func(int, string) bool { return true }},
	{"pending", webhook.DeliveryQuery{State: webhook.Pending}, func(i int, d string) bool { return d == "second" || i%3 == 2 }},
	{"pending of a source", webhook.DeliveryQuery{State: webhook.Pending, Source: "github"}, func(i int, d string) bool { return i%2 == 0 && i%3 == 2 }},
	{"dead", webhook.DeliveryQuery{State: webhook.Dead}, func(i int, d string) bool { return d == "app" && i%3 == 1 }},
	{"by reason", webhook.DeliveryQuery{Reason: webhook.DeadRejected}, func(i int, d string) bool { return d == "app" && i%3 == 1 }},
	{"by another reason", webhook.DeliveryQuery{Reason: webhook.DeadExpired}, func(int, string) bool { return false }},
	{"by a reason that the state cannot have", webhook.DeliveryQuery{State: webhook.Pending, Reason: webhook.DeadRejected}, func(int, string) bool { return false }},
	{"delivered", webhook.DeliveryQuery{State: webhook.Delivered}, func(i int, d string) bool { return d == "app" && i%3 == 0 }},
	{"delivered of a source", webhook.DeliveryQuery{State: webhook.Delivered, Source: "stripe"}, func(i int, d string) bool { return d == "app" && i%6 == 3 }},
	{"of a source", webhook.DeliveryQuery{Source: "stripe"}, func(i int, d string) bool { return i%2 == 1 }},
	{"for a destination", webhook.DeliveryQuery{Destination: "second"}, func(i int, d string) bool { return d == "second" }},
	{"pending for a destination", webhook.DeliveryQuery{State: webhook.Pending, Destination: "second"}, func(i int, d string) bool { return d == "second" }},
	{"due", webhook.DeliveryQuery{Due: webhook.DueNow, DueAt: noon.Add(5 * time.Second)}, func(i int, d string) bool { return i < 5 && (d == "second" || i%3 == 2) }},
	{"due later", webhook.DeliveryQuery{Due: webhook.DueLater, DueAt: noon.Add(5 * time.Second)}, func(i int, d string) bool { return i >= 5 && (d == "second" || i%3 == 2) }},
	{"due and dead", webhook.DeliveryQuery{State: webhook.Dead, Due: webhook.DueNow, DueAt: noon.Add(time.Hour)}, func(int, string) bool { return false }},
	{"since and until", webhook.DeliveryQuery{Since: noon.Add(3 * time.Second), Until: noon.Add(9 * time.Second)}, func(i int, d string) bool { return i >= 3 && i < 9 }},
	{"pending since", webhook.DeliveryQuery{State: webhook.Pending, Since: noon.Add(3 * time.Second)}, func(i int, d string) bool { return i >= 3 && (d == "second" || i%3 == 2) }},
	{"only none", webhook.DeliveryQuery{Only: []webhook.ID{}}, func(int, string) bool { return false }},
}

var listCases = []testCase{
	{"events by every filter and page size, each once, newest first", func(b *bench) {
		b.population()
		for _, f := range eventFilters {
			for _, limit := range []int{0, 1, 3, 7} {
				f.query.Limit = limit
				if diff := cmp.Diff(numbers(f.fits), b.eventKeys(f.query)); diff != "" {
					b.Errorf("%s, pages of %d: %s", f.name, limit, diff)
				}
			}
		}
	}},
	{"deliveries by every filter and page size, each once, newest first", func(b *bench) {
		b.population()
		for _, f := range deliveryFilters {
			for _, limit := range []int{0, 1, 3, 7} {
				f.query.Limit = limit
				if diff := cmp.Diff(pairs(f.fits), b.deliveryKeys(f.query)); diff != "" {
					b.Errorf("%s, pages of %d: %s", f.name, limit, diff)
				}
			}
		}
	}},
	{"deliveries of these events only, or of all others", func(b *bench) {
		b.population()
		var ids []webhook.ID
		for _, key := range []string{"5", "6", "20"} {
			page, err := b.Events(b.Context(), webhook.EventQuery{Key: key})
			b.must(err)
			ids = append(ids, page.Items[0].Event.ID)
		}
		chosen := func(i int, d string) bool { return i == 5 || i == 6 || i == 20 }
		rest := func(i int, d string) bool { return !chosen(i, d) }
		pending := func(i int, d string) bool { return rest(i, d) && (d == "second" || i%3 == 2) }
		for _, limit := range []int{0, 1, 2} {
			only := webhook.DeliveryQuery{Only: ids, Limit: limit}
			b.wantKeys(b.deliveryKeys(only), pairs(chosen)...)
			b.wantKeys(b.deliveryKeys(webhook.DeliveryQuery{Except: ids, Limit: limit}), pairs(rest)...)
			b.wantKeys(b.deliveryKeys(webhook.DeliveryQuery{Except: ids, State: webhook.Pending, Limit: limit}), pairs(pending)...)
		}
		b.wantKeys(b.deliveryKeys(webhook.DeliveryQuery{Only: ids, State: webhook.Delivered}), "6 app")
	}},
	{"a key finds the events that were kept beside the first", func(b *bench) {
		b.event("k")
		b.pass(time.Second)
		b.accept(b.arrival("k", "other"), webhook.ResultAccepted)
		b.accept(b.arrival("k", "third"), webhook.ResultAccepted)
		b.wantKeys(b.eventKeys(webhook.EventQuery{Key: "k", Limit: 1}), "k", "k", "k")
		b.wantKeys(b.eventKeys(webhook.EventQuery{Key: "k", Source: "github"}), "k", "k", "k")
	}},
	{"a type is a pattern in which only the star is special", func(b *bench) {
		for i, name := range []string{"", "push", "issues.opened", "issues.closed", "a[b]?c", "a*c", "Push"} {
			a := b.arrival(fmt.Sprint(i), "body")
			a.Event.Type = name
			b.accept(a, webhook.ResultAccepted)
			b.pass(time.Second)
		}
		for pattern, want := range map[string][]string{
			"push": {"1"}, "issues.*": {"3", "2"}, "*.opened": {"2"}, "*": {"6", "5", "4", "3", "2", "1", "0"},
			"a[b]?c": {"4"}, "a*c": {"5", "4"}, "issues": nil, "[pP]ush": nil, "pus?": nil, "%": nil,
		} {
			for _, limit := range []int{1, 50} {
				b.wantKeys(b.eventKeys(webhook.EventQuery{Type: pattern, Limit: limit}), want...)
				b.wantKeys(b.eventKeys(webhook.EventQuery{Type: pattern, State: webhook.Pending, Limit: limit}), want...)
				b.wantKeys(b.eventKeys(webhook.EventQuery{Type: pattern, Source: "github", Limit: limit}), want...)
			}
			if len(want) == 1 {
				b.wantKeys(b.eventKeys(webhook.EventQuery{Type: pattern, Key: want[0]}), want...)
			}
		}
	}},
	{"text in the body is found byte for byte", func(b *bench) {
		for i, body := range []string{"order 1234", "ORDER 1234", "order 12345 %", "", "a\x00b\xff"} {
			b.accept(b.arrival(fmt.Sprint(i), body), webhook.ResultAccepted)
			b.pass(time.Second)
		}
		for text, want := range map[string][]string{
			"order 1234": {"2", "0"}, "1234": {"2", "1", "0"}, "%": {"2"}, "\x00b\xff": {"4"}, "*": nil, "_": nil, "order 99": nil,
		} {
			for _, limit := range []int{1, 50} {
				b.wantKeys(b.eventKeys(webhook.EventQuery{Contains: text, Limit: limit}), want...)
				b.wantKeys(b.eventKeys(webhook.EventQuery{Contains: text, Source: "github", State: webhook.Pending, Limit: limit}), want...)
				b.wantKeys(b.eventKeys(webhook.EventQuery{Contains: text, Type: "pu*", Limit: limit}), want...)
			}
		}
	}},
	{"items have their deliveries and no histories", func(b *bench) {
		b.population()
		page, err := b.Events(b.Context(), webhook.EventQuery{Limit: 2})
		b.must(err)
		for _, item := range page.Items {
			detail, err := b.Event(b.Context(), item.Event.ID)
			b.must(err)
			for i := range detail.Deliveries {
				detail.Deliveries[i].Attempts = nil
			}
			if diff := cmp.Diff(detail, item); diff != "" {
				b.Error(diff)
			}
		}
	}},
	{"a list in an empty store is empty", func(b *bench) {
		b.wantKeys(b.eventKeys(webhook.EventQuery{}))
		b.wantKeys(b.eventKeys(webhook.EventQuery{Key: "k"}))
		b.wantKeys(b.deliveryKeys(webhook.DeliveryQuery{State: webhook.Dead}))
		b.wantKeys(b.deliveryKeys(webhook.DeliveryQuery{}))
	}},
	{"a page is never larger than the largest", func(b *bench) {
		for i := range webhook.MaxPage + 5 {
			b.event(fmt.Sprint(i))
		}
		page, err := b.Events(b.Context(), webhook.EventQuery{Limit: 100_000})
		b.must(err)
		deliveries, err := b.Deliveries(b.Context(), webhook.DeliveryQuery{Limit: 100_000})
		b.must(err)
		if len(page.Items) != webhook.MaxPage || len(deliveries.Items) != webhook.MaxPage {
			b.Errorf("pages of %d and %d, want %d", len(page.Items), len(deliveries.Items), webhook.MaxPage)
		}
	}},
	{"new events do not disturb a list that is being read", func(b *bench) {
		b.population()
		page, err := b.Events(b.Context(), webhook.EventQuery{Limit: 10})
		b.must(err)
		b.event("new")
		rest := b.eventKeys(webhook.EventQuery{After: page.Next, Limit: 10})
		b.wantKeys(rest, numbers(func(i int) bool { return i < 20 })...)
	}},
	{"refuses cursors that it did not give out", func(b *bench) {
		b.population()
		events, err := b.Events(b.Context(), webhook.EventQuery{Limit: 1})
		b.must(err)
		deliveries, err := b.Deliveries(b.Context(), webhook.DeliveryQuery{Limit: 1})
		b.must(err)
		garbage := []string{"x", "0", "%%%", "AAAA", events.Next + "A", events.Next[1:], base64.RawURLEncoding.EncodeToString(make([]byte, 300))}
		for _, after := range append(garbage, deliveries.Next) {
			_, err := b.Events(b.Context(), webhook.EventQuery{After: after})
			b.wantError(err, webhook.ErrCursor)
		}
		for _, after := range append(garbage, events.Next) {
			_, err := b.Deliveries(b.Context(), webhook.DeliveryQuery{After: after})
			b.wantError(err, webhook.ErrCursor)
		}
	}},
}
