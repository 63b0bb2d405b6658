package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/webhook"
)

// withDead returns rooms with n dead deliveries of a destination and reason.
func withDead(r *rooms, n int, destination string, reason webhook.DeadReason) {
	for i := range n {
		id := webhook.ID{9, 14: byte(i >> 8), 15: byte(i), 3: byte(len(r.details)), 4: byte(len(r.details) >> 8)}
		r.details = append(r.details, webhook.EventDetail{Event: webhook.Event{ID: id}, Deliveries: []webhook.History{{
			Delivery: webhook.Delivery{EventID: id, Destination: destination, State: webhook.Dead, Reason: reason, FinishedAt: noon},
		}}})
	}
}

func TestDeadLettersAreGroupedByDestinationAndReason(t *testing.T) {
	r := example()
	withDead(r, 250, "app", webhook.DeadExhausted)
	withDead(r, 3, "app", webhook.DeadTooLarge)
	withDead(r, 2, "gone", webhook.DeadExpired)
	html := serve(t, r).login(t).page("/dead")
	wants(t, html, "256 deliveries ended", "250 deliveries.", "all attempts are used", "3 deliveries.", "too large", "2 deliveries.",
		"/dead/redeliver?destination=app&amp;reason=exhausted", "no longer configured")
	if strings.Contains(html, "destination=gone&amp;reason") {
		t.Error("what has no destination can be redelivered")
	}
	if n := strings.Count(html, "<tr><th scope=\"row\""); n != maxExamples+3+2+1 {
		t.Errorf("%d examples are listed", n)
	}
	if strings.Index(html, "250 deliveries.") > strings.Index(html, "3 deliveries.") {
		t.Error("the largest group does not come first")
	}
	wants(t, serve(t, &rooms{}).login(t).page("/dead"), "Nothing is dead.")
}

func TestBulkRedeliveryShowsTheCountFirst(t *testing.T) {
	r := example()
	withDead(r, 250, "app", webhook.DeadExhausted)
	s := serve(t, r)
	b := s.login(t)
	wants(t, b.page("/dead/redeliver?destination=app&reason=exhausted"), "Redeliver 250 deliveries?", "12 s", `value="exhausted"`)
	s.untouched(t, "by looking")
	wants(t, b.page("/dead/redeliver?destination=app&reason=rejected"), "nothing left to redeliver")
	for target, want := range map[string]int{
		"/dead/redeliver":                                      http.StatusBadRequest,
		"/dead/redeliver?destination=app":                      http.StatusBadRequest,
		"/dead/redeliver?destination=app&reason=odd":           http.StatusBadRequest,
		"/dead/redeliver?destination=elsewhere&reason=expired": http.StatusNotFound,
	} {
		if answer := b.get(target); answer.Code != want {
			t.Errorf("%s: %d, want %d", target, answer.Code, want)
		}
	}
}

func TestBulkRedeliveryIsSpreadAndTakesTheGroupOnly(t *testing.T) {
	r := example()
	withDead(r, 450, "app", webhook.DeadExhausted)
	withDead(r, 5, "app", webhook.DeadExpired)
	s := serve(t, r)
	b := s.login(t)
	answer := b.change("/dead/redeliver", "destination", "app", "reason", "exhausted")
	if to := answer.Header().Get("Location"); answer.Code != http.StatusSeeOther || to != "/dead?done=redelivered" {
		t.Fatalf("%d to %q", answer.Code, to)
	}
	if len(s.redelivered) != 450 || !slices.Contains(s.woken, "app") {
		t.Fatalf("%d are redelivered, woken %v", len(s.redelivered), s.woken)
	}
	slices.SortFunc(s.redelivered, func(a, b webhook.Redelivery) int { return a.At.Compare(b.At) })
	seen := map[webhook.ID]bool{}
	for i, one := range s.redelivered {
		if seen[one.EventID] || one.Force || one.Destination != "app" {
			t.Fatalf("%+v", one)
		}
		seen[one.EventID] = true
		if i > 0 && one.At.Sub(s.redelivered[i-1].At) < bulkSpacing {
			t.Fatalf("number %d goes %s after the one before", i, one.At.Sub(s.redelivered[i-1].At))
		}
	}
}

func TestBulkRedeliveryPassesOverWhatHasChanged(t *testing.T) {
	r := example()
	r.refuse = map[string]error{"crm": webhook.ErrState}
	b := serve(t, r).login(t)
	if to := b.change("/dead/redeliver", "destination", "crm", "reason", "rejected").Header().Get("Location"); to != "/dead?done=nothing" {
		t.Errorf("to %q", to)
	}
	r.refuse["crm"] = errors.New("disk is on fire")
	if answer := b.change("/dead/redeliver", "destination", "crm", "reason", "rejected"); answer.Code != http.StatusServiceUnavailable {
		t.Errorf("a fault: %d", answer.Code)
	}
}

func TestBulkRedeliveryOfWhatWasTooLargeIsForced(t *testing.T) {
	r := example()
	withDead(r, 1, "app", webhook.DeadTooLarge)
	s := serve(t, r)
	b := s.login(t)
	wants(t, b.page("/dead/redeliver?destination=app&reason=too_large"), `name="force" value="yes"`, "too large")
	b.change("/dead/redeliver", "destination", "app", "reason", "too_large", "force", "yes")
	if len(s.redelivered) != 1 || !s.redelivered[0].Force {
		t.Errorf("%+v", s.redelivered)
	}
}

func TestBulkRedeliveryIsBounded(t *testing.T) {
	r := example()
	withDead(r, maxCounted+webhook.MaxPage, "app", webhook.DeadExpired)
	s := serve(t, r)
	b := s.login(t)
	wants(t, b.page("/dead"), "More than 10000 deliveries")
	wants(t, b.page("/dead/redeliver?destination=app&reason=expired"), "the first 10000 deliveries")
	if to := b.change("/dead/redeliver", "destination", "app", "reason", "expired").Header().Get("Location"); to != "/dead?done=redelivered-some" {
		t.Errorf("to %q", to)
	}
	if len(s.redelivered) != maxCounted {
		t.Errorf("%d are redelivered", len(s.redelivered))
	}
}
