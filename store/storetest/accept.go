package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

var acceptCases = []testCase{
	{"keeps every field of an event", func(b *bench) {
		a := b.arrival("k", "the body")
		a.Event.Header = map[string][]string{
			"Content-Type": {"text/plain"}, "X-Many": {"1", "", "2"}, "X-None": {},
			"X-Bytes": {"caf\xe9 \x80\xff"}, "x-lower": {"kept as it is"},
		}
		b.accept(a, webhook.ResultAccepted)
		want := a.Event
		want.ReceivedAt, want.Size, want.SHA256 = b.stored(), 8, sha256.Sum256([]byte("the body"))
		event, delivery, err := b.Load(b.Context(), a.Event.ID, "app")
		b.must(err)
		if diff := cmp.Diff(want, event); diff != "" {
			b.Error(diff)
		}
		wantDelivery := webhook.Delivery{
			EventID: a.Event.ID, Source: "github", Destination: "app", State: webhook.Pending,
			Size: 8, NextAttemptAt: b.stored(), AgeFrom: b.stored(),
		}
		if diff := cmp.Diff(wantDelivery, delivery); diff != "" {
			b.Error(diff)
		}
		want.Body = nil
		detail, err := b.Event(b.Context(), a.Event.ID)
		b.must(err)
		if diff := cmp.Diff(webhook.EventDetail{Event: want, Deliveries: []webhook.History{{Delivery: wantDelivery}}}, detail); diff != "" {
			b.Error(diff)
		}
	}},
	{"keeps bodies byte by byte", func(b *bench) {
		for i, body := range []string{"", "\x00", "\x00\xff\x00", strings.Repeat("x", 8191), strings.Repeat("\n", 3<<20)} {
			a := b.arrival(fmt.Sprint(i), body)
			b.accept(a, webhook.ResultAccepted)
			got, err := b.Body(b.Context(), a.Event.ID)
			b.must(err)
			if !bytes.Equal(got, []byte(body)) {
				b.Errorf("body %d: got %d bytes, want %d", i, len(got), len(body))
			}
		}
	}},
	{"makes a delivery for each destination", func(b *bench) {
		a := b.arrival("k", "")
		a.To = []string{"b", "a", "c", "a"}
		b.accept(a, webhook.ResultAccepted)
		detail, err := b.Event(b.Context(), a.Event.ID)
		b.must(err)
		var names []string
		for _, h := range detail.Deliveries {
			names = append(names, h.Delivery.Destination)
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
			b.Error(diff)
		}
	}},
	{"takes an event without a destination", func(b *bench) {
		a := b.arrival("k", "")
		a.To = nil
		b.accept(a, webhook.ResultAccepted)
		b.accept(a, webhook.ResultDuplicate)
	}},
	{"never takes events without a key for each other", func(b *bench) {
		b.accept(b.arrival("", "same"), webhook.ResultAccepted)
		b.accept(b.arrival("", "same"), webhook.ResultAccepted)
	}},
	{"recognises the same event when asked again without a key", func(b *bench) {
		a := b.arrival("", "same")
		b.accept(a, webhook.ResultAccepted)
		if receipt := b.accept(a, webhook.ResultDuplicate); receipt.ID != a.Event.ID {
			b.Errorf("duplicate of %s, want %s", receipt.ID, a.Event.ID)
		}
	}},
	{"recognises the same event when asked again after the window", func(b *bench) {
		a := b.arrival("k", "same")
		b.accept(a, webhook.ResultAccepted)
		b.pass(2 * Window)
		a.Event.ReceivedAt = b.now
		b.accept(a, webhook.ResultDuplicate)
	}},
	{"scopes keys to their source", func(b *bench) {
		b.accept(b.arrival("k", "same"), webhook.ResultAccepted)
		other := b.arrival("k", "same")
		other.Event.Source = "stripe"
		b.accept(other, webhook.ResultAccepted)
	}},
	{"compares keys byte by byte", func(b *bench) {
		keys := []string{"k", "K", "k ", " k", "k\x00", "k\x00k", "\xff", "é", "e\u0301", strings.Repeat("k", 4096)}
		for _, key := range keys {
			b.accept(b.arrival(key, "same"), webhook.ResultAccepted)
		}
		for _, key := range keys {
			b.accept(b.arrival(key, "same"), webhook.ResultDuplicate)
			detail, err := b.EventByKey(b.Context(), "github", key)
			b.must(err)
			if detail.Event.Key != key {
				b.Errorf("key %q came back as %q", key, detail.Event.Key)
			}
		}
	}},
	{"refuses an event without an id", func(b *bench) {
		a := b.arrival("k", "")
		a.Event.ID = webhook.ID{}
		if _, err := b.Accept(b.Context(), a); err == nil {
			b.Error("no error")
		}
	}},
	{"says what does not exist", func(b *bench) {
		id := b.newID()
		_, err := b.Event(b.Context(), id)
		b.wantError(err, webhook.ErrNotFound)
		_, err = b.EventByKey(b.Context(), "github", "k")
		b.wantError(err, webhook.ErrNotFound)
		_, err = b.Body(b.Context(), id)
		b.wantError(err, webhook.ErrNotFound)
		_, _, err = b.Load(b.Context(), id, "app")
		b.wantError(err, webhook.ErrNotFound)
		known := b.event("k")
		_, _, err = b.Load(b.Context(), known, "elsewhere")
		b.wantError(err, webhook.ErrNotFound)
	}},
	{"B9 accepts one of fifty simultaneous copies", func(b *bench) {
		copies := make([]webhook.Arrival, 50)
		for i := range copies {
			copies[i] = b.arrival("k", "same")
		}
		var accepted, duplicate atomic.Int64
		var group sync.WaitGroup
		for _, a := range copies {
			group.Go(func() {
				receipt, err := b.Accept(b.Context(), a)
				switch {
				case err != nil:
					b.Error(err)
				case receipt.Result == webhook.ResultAccepted:
					accepted.Add(1)
				case receipt.Result == webhook.ResultDuplicate:
					duplicate.Add(1)
				}
			})
		}
		group.Wait()
		if accepted.Load() != 1 || duplicate.Load() != 49 {
			b.Errorf("%d accepted, %d duplicates; want 1 and 49", accepted.Load(), duplicate.Load())
		}
		page, err := b.Events(b.Context(), webhook.EventQuery{})
		b.must(err)
		if len(page.Items) != 1 || page.Items[0].Event.Duplicates != 49 || len(page.Items[0].Deliveries) != 1 {
			b.Errorf("stored %+v; want one event with 49 duplicates and one delivery", page.Items)
		}
	}},
	{"proves that it commits", func(b *bench) {
		b.must(b.Ping(b.Context()))
		b.must(b.Ping(b.Context()))
	}},
}

var repeatCases = []testCase{
	{"counts repeats of what is pending and leaves it as it is", func(b *bench) {
		id := b.event("k")
		before := b.delivery(id)
		for range 3 {
			b.pass(time.Minute)
			receipt := b.accept(b.arrival("k", "body of k"), webhook.ResultDuplicate)
			if receipt.ID != id || receipt.Reopened != nil {
				b.Errorf("receipt %+v, want a plain duplicate of %s", receipt, id)
			}
		}
		event, after, err := b.Load(b.Context(), id, "app")
		b.must(err)
		if event.Duplicates != 3 || !event.LastDuplicateAt.Equal(b.stored()) {
			b.Errorf("%d duplicates, the last at %s; want 3 and %s", event.Duplicates, event.LastDuplicateAt, b.stored())
		}
		if diff := cmp.Diff(before, after); diff != "" {
			b.Error(diff)
		}
	}},
	{"B10 leaves delivered ones delivered", func(b *bench) {
		id := b.finish("k", webhook.OutcomeDelivered)
		if receipt := b.accept(b.arrival("k", "body of k"), webhook.ResultDuplicate); receipt.Reopened != nil {
			b.Errorf("reopened %v", receipt.Reopened)
		}
		if d := b.delivery(id); d.State != webhook.Delivered {
			b.Errorf("state %s", d.State)
		}
	}},
	{"B10 reopens dead ones with a fresh allowance", func(b *bench) {
		id := b.finish("k", webhook.OutcomeRejected)
		b.pass(time.Hour)
		receipt := b.accept(b.arrival("k", "body of k"), webhook.ResultDuplicate)
		if diff := cmp.Diff([]string{"app"}, receipt.Reopened); diff != "" {
			b.Error(diff)
		}
		want := webhook.Delivery{
			EventID: id, Source: "github", Destination: "app", State: webhook.Pending, Size: 9,
			Attempts: 1, NextAttemptAt: b.stored(), AgeFrom: b.stored(),
		}
		if diff := cmp.Diff(want, b.delivery(id)); diff != "" {
			b.Error(diff)
		}
		detail, err := b.Event(b.Context(), id)
		b.must(err)
		if len(detail.Deliveries[0].Attempts) != 1 {
			b.Errorf("history %v, want the one attempt", detail.Deliveries[0].Attempts)
		}
	}},
	{"B10 does not send again what is too large", func(b *bench) {
		id := b.finish("k", webhook.OutcomeTooLarge)
		if receipt := b.accept(b.arrival("k", "body of k"), webhook.ResultDuplicate); receipt.Reopened != nil {
			b.Errorf("reopened %v", receipt.Reopened)
		}
		if d := b.delivery(id); d.State != webhook.Dead {
			b.Errorf("state %s", d.State)
		}
	}},
	{"B12 is a duplicate after 71 hours although bodies went after 24", func(b *bench) {
		id := b.finish("k", webhook.OutcomeDelivered)
		b.pass(71 * time.Hour)
		b.must(b.PruneAll(b.Context(), b.now, b.now.Add(-24*time.Hour)))
		event, _, err := b.Load(b.Context(), id, "app")
		b.must(err)
		if !event.BodyGone || event.Body != nil || event.Header != nil {
			b.Errorf("event %+v, want its payload gone", event)
		}
		if receipt := b.accept(b.arrival("k", "body of k"), webhook.ResultDuplicate); receipt.ID != id {
			b.Errorf("duplicate of %s, want %s", receipt.ID, id)
		}
	}},
	{"B12 counts the window from the first copy", func(b *bench) {
		id := b.event("k")
		b.pass(Window)
		if receipt := b.accept(b.arrival("k", "body of k"), webhook.ResultDuplicate); receipt.ID != id {
			b.Errorf("at the end of the window: duplicate of %s, want %s", receipt.ID, id)
		}
		b.pass(2 * time.Millisecond)
		anew := b.accept(b.arrival("k", "body of k"), webhook.ResultAccepted)
		if receipt := b.accept(b.arrival("k", "body of k"), webhook.ResultDuplicate); receipt.ID != anew.ID {
			b.Errorf("duplicate of %s, want the later %s", receipt.ID, anew.ID)
		}
		if detail, err := b.EventByKey(b.Context(), "github", "k"); err != nil || detail.Event.ID != anew.ID {
			b.Errorf("the key finds %s, %v; want %s", detail.Event.ID, err, anew.ID)
		}
		if d := b.delivery(id); d.State != webhook.Pending {
			b.Errorf("the first is %s; want it pending still", d.State)
		}
	}},
	{"restores a payload that retention has removed", func(b *bench) {
		id := b.finish("k", webhook.OutcomeRejected)
		b.pass(24 * time.Hour)
		b.must(b.PruneAll(b.Context(), b.now, b.now))
		if _, err := b.Body(b.Context(), id); !errors.Is(err, webhook.ErrNotFound) {
			b.Fatalf("error %v; want the body gone", err)
		}
		receipt := b.accept(b.arrival("k", "body of k"), webhook.ResultDuplicate)
		if diff := cmp.Diff([]string{"app"}, receipt.Reopened); diff != "" {
			b.Error(diff)
		}
		event, _, err := b.Load(b.Context(), id, "app")
		b.must(err)
		if string(event.Body) != "body of k" || event.BodyGone || len(event.Header) == 0 {
			b.Errorf("event %+v, want its payload back", event)
		}
	}},
	{"reopens the dead deliveries of an event only", func(b *bench) {
		a := b.arrival("k", "")
		a.To = []string{"app", "dead", "done"}
		b.accept(a, webhook.ResultAccepted)
		b.must(b.Cancel(b.Context(), a.Event.ID, "dead", b.now))
		gates, err := b.Own(b.Context(), "done")
		b.must(err)
		_, d, err := b.Load(b.Context(), a.Event.ID, "done")
		b.must(err)
		b.try(gates, d, webhook.OutcomeDelivered)
		a.Event.ID = b.newID()
		if diff := cmp.Diff([]string{"dead"}, b.accept(a, webhook.ResultDuplicate).Reopened); diff != "" {
			b.Error(diff)
		}
	}},
}

var conflictCases = []testCase{
	{"reject refuses other bytes and changes nothing", func(b *bench) {
		id := b.event("k")
		a := b.arrival("k", "other")
		a.OnConflict = webhook.RejectConflict
		if receipt := b.accept(a, webhook.ResultKeyConflict); receipt.ID != id {
			b.Errorf("conflict with %s, want %s", receipt.ID, id)
		}
		page, err := b.Events(b.Context(), webhook.EventQuery{})
		b.must(err)
		if len(page.Items) != 1 || page.Items[0].Event.Duplicates != 0 {
			b.Errorf("stored %+v, want one untouched event", page.Items)
		}
	}},
	{"ignore counts other bytes as a duplicate and keeps the first", func(b *bench) {
		id := b.event("k")
		a := b.arrival("k", "other")
		a.OnConflict = webhook.IgnoreConflict
		b.accept(a, webhook.ResultDuplicate)
		body, err := b.Body(b.Context(), id)
		b.must(err)
		if string(body) != "body of k" {
			b.Errorf("body %q", body)
		}
	}},
	{"ignore takes the repeat's bytes where the first are gone", func(b *bench) {
		id := b.finish("k", webhook.OutcomeRejected)
		b.must(b.PruneAll(b.Context(), b.now, b.now.Add(time.Second)))
		a := b.arrival("k", "other")
		a.OnConflict = webhook.IgnoreConflict
		b.accept(a, webhook.ResultDuplicate)
		event, d, err := b.Load(b.Context(), id, "app")
		b.must(err)
		if string(event.Body) != "other" || event.Size != 5 || event.SHA256 != sha256.Sum256([]byte("other")) || d.Size != 5 {
			b.Errorf("event %+v, want the bytes of the repeat described", event)
		}
	}},
	{"keep stores other bytes as an event of their own", func(b *bench) {
		id := b.event("k")
		other := b.accept(b.arrival("k", "other"), webhook.ResultAccepted)
		detail, err := b.Event(b.Context(), other.ID)
		b.must(err)
		if detail.Event.ConflictOf != id || detail.Event.Key != "k" {
			b.Errorf("event %+v, want a conflict of %s", detail.Event, id)
		}
		third := b.accept(b.arrival("k", "third"), webhook.ResultAccepted)
		for body, want := range map[string]webhook.ID{"body of k": id, "other": other.ID, "third": third.ID} {
			if receipt := b.accept(b.arrival("k", body), webhook.ResultDuplicate); receipt.ID != want {
				b.Errorf("%q is a duplicate of %s, want %s", body, receipt.ID, want)
			}
		}
		if detail, err := b.EventByKey(b.Context(), "github", "k"); err != nil || detail.Event.ID != id {
			b.Errorf("the key finds %s, %v; want the first, %s", detail.Event.ID, err, id)
		}
	}},
	{"a kept one is recognised whatever the policy is now", func(b *bench) {
		b.event("k")
		other := b.accept(b.arrival("k", "other"), webhook.ResultAccepted)
		for _, policy := range []webhook.OnConflict{webhook.RejectConflict, webhook.IgnoreConflict} {
			a := b.arrival("k", "other")
			a.OnConflict = policy
			if receipt := b.accept(a, webhook.ResultDuplicate); receipt.ID != other.ID {
				b.Errorf("%s: duplicate of %s, want %s", policy, receipt.ID, other.ID)
			}
		}
	}},
	{"a kept one has a window of its own", func(b *bench) {
		b.finish("k", webhook.OutcomeDelivered)
		b.pass(24 * time.Hour)
		other := b.accept(b.arrival("k", "other"), webhook.ResultAccepted)
		b.try(b.own(), b.delivery(other.ID), webhook.OutcomeDelivered)
		b.pass(Window - time.Hour)
		b.must(b.PruneAll(b.Context(), b.now, b.now))
		if receipt := b.accept(b.arrival("k", "other"), webhook.ResultDuplicate); receipt.ID != other.ID {
			b.Errorf("duplicate of %s, want %s", receipt.ID, other.ID)
		}
	}},
	{"an unknown policy refuses", func(b *bench) {
		b.event("k")
		a := b.arrival("k", "other")
		a.OnConflict = ""
		b.accept(a, webhook.ResultKeyConflict)
	}},
}
