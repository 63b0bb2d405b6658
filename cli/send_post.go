package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/cli/client"
	"weir/config"
	"weir/signature"
	"weir/webhook"
	"weir/webhook/wording"
)

// post signs and sends one event and prints what the service made of it.
// errRefused is returned when it was not taken.
func (s sending) post(ctx context.Context, made *sent) error {
	now := time.Now()
	signed, err := s.sign(made.SenderID, now)
	if err != nil {
		return usagef("send: source %s: sign an event: %w", s.from.Source.Name, err)
	}
	response, answer, err := s.client.Send(ctx, signed)
	if err != nil {
		return err
	}
	s.stage("sent", "%s %s, %d bytes, as %s: %s in %s", signed.Method, pathOf(signed), len(signed.Body),
		s.from.Source.Scheme, response.Status, wording.Rounded(time.Since(now)))
	verdict := s.from.Verifier.Verify(signed, now)
	made.Status, made.Key = response.StatusCode, verdict.Key
	if response.StatusCode/100 != 2 {
		made.Refused = s.refused(response, answer, verdict)
		return errRefused
	}
	if len(bytes.TrimSpace(answer)) == 0 && verdict.Result == webhook.ResultAccepted {
		return s.unnamed(ctx, made, verdict)
	}
	var receipt client.Receipt
	if json.Unmarshal(answer, &receipt) != nil || receipt.ID.IsZero() {
		s.stage("answered", "%s", wording.Shortened(wording.PlainLine(string(answer)), 200))
		return fmt.Errorf("what answers at %s is not weir, or took this for a handshake", s.client.URL)
	}
	s.taken(made, receipt, verdict)
	return nil
}

// pathOf returns the target without its query, which may hold a token.
func pathOf(signed signature.Request) string {
	path, _, _ := strings.Cut(signed.Target, "?")
	return path
}

// refused prints why an event was not taken, as far as the sender may know,
// and what may be done. It returns the reason.
func (s sending) refused(response *http.Response, answer []byte, verdict signature.Verdict) string {
	said := &client.Refusal{}
	if json.Unmarshal(answer, said) != nil {
		said.Detail = wording.Shortened(wording.PlainLine(string(answer)), 200)
	}
	reason := wording.PlainLine(cmp.Or(said.Code, http.StatusText(response.StatusCode)) + ": " +
		cmp.Or(said.Detail, said.Title, "no reason was given"))
	s.stage("refused", "%s", reason)
	if after := response.Header.Get("Retry-After"); after != "" {
		s.stage("", "it may be sent again in %s s", wording.PlainLine(after))
	}
	switch {
	case verdict.Result != webhook.ResultAccepted:
		s.stage("", "by the settings here it is %s too: %s", verdict.Result, verdict.Reason)
	case response.StatusCode == http.StatusUnauthorized:
		s.stage("", "by the settings here it verifies: the service runs with another secret or scheme,")
		s.stage("", "or its clock differs by more than %s; its log has the reason", s.from.Source.Tolerance)
	case response.StatusCode == http.StatusNotFound && said.Code == "":
		s.stage("", "that is not what weir answers: is %s right?", s.client.URLFrom)
	case response.StatusCode == http.StatusNotFound:
		s.stage("", "the service has no source %q", s.from.Source.Name)
	}
	return reason
}

// unnamed is for an answer without the id of what it took: a source may be set
// to answer so. With a token the event is found by its key.
func (s sending) unnamed(ctx context.Context, made *sent, verdict signature.Verdict) error {
	receipt, err := s.find(ctx, verdict.Key)
	if err != nil {
		return fmt.Errorf("look for the event behind an empty answer: %w", err)
	}
	s.taken(made, receipt, verdict)
	if receipt.ID.IsZero() {
		s.stage("", "the answer is empty because %sSTATUS=%d, so it does not name the event's id",
			config.PrefixOf(config.SourcePrefix, s.from.Source.Name), made.Status)
	}
	return nil
}

// find looks a stored event up by its key. The receipt is empty where that
// cannot be done.
func (s sending) find(ctx context.Context, key string) (client.Receipt, error) {
	if s.client.Token == "" || key == "" {
		return client.Receipt{}, nil
	}
	query := url.Values{"source": {s.from.Source.Name}, "key": {key}, "limit": {"1"}}
	var list client.List[client.Event]
	if err := s.client.Get(ctx, "/v1/events?"+query.Encode(), &list); err != nil || len(list.Items) == 0 {
		return client.Receipt{}, err
	}
	newest := list.Items[0]
	return client.Receipt{ID: newest.ID, Duplicate: newest.Duplicates > 0}, nil
}

// taken notes and prints what the service made of an event.
func (s sending) taken(made *sent, receipt client.Receipt, verdict signature.Verdict) {
	made.Duplicate, made.Reopened = receipt.Duplicate, receipt.Reopened
	if !receipt.ID.IsZero() {
		made.ID = &receipt.ID
	}
	if s.from.Verifier.Unsigned() {
		s.stage("verified", "not at all: this source takes unsigned requests")
	} else {
		s.stage("verified", "yes")
	}
	if verdict.Key == "" {
		s.stage("key", "none: a repeat cannot be recognised")
	} else {
		s.stage("key", "%s (%s)", wording.PlainLine(verdict.Key), verdict.KeyFrom)
	}
	switch {
	case receipt.ID.IsZero():
		s.stage("stored", "yes")
	case receipt.Reopened:
		s.stage("duplicate", "of %s, whose dead delivery is tried again", receipt.ID)
	case receipt.Duplicate:
		s.stage("duplicate", "of %s: recognised, not sent on again", receipt.ID)
	default:
		s.stage("stored", "as %s", receipt.ID)
	}
}

// followEvery is the time between two looks at the deliveries of an event.
const followEvery = 100 * time.Millisecond

// follow looks at an event until each of its deliveries is settled or the time
// is up, and prints its deliveries. errDead is returned when one is dead.
func (s sending) follow(ctx context.Context, made *sent) error {
	switch {
	case s.client.Token == "":
		s.stage("delivery", "set WEIR_API_TOKEN to follow it")
		return nil
	case made.ID == nil:
		s.stage("delivery", "weir events --source %s shows it", s.from.Source.Name)
		return nil
	case s.Wait == 0:
		return nil
	}
	deadline := time.Now().Add(time.Duration(s.Wait))
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for calm := 0; ; {
		var e event
		if err := s.client.Get(ctx, "/v1/events/"+made.ID.String(), &e); err != nil {
			return fmt.Errorf("look at the event: %w", err)
		}
		// A hold may be seen a moment before the attempt that began it: what
		// waits is looked at twice.
		if settled(e.value) {
			calm++
		} else {
			calm = 0
		}
		if finished(e.value) || calm > 1 || time.Now().After(deadline) {
			made.Event = &e
			return s.outcome(e.value)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// settled reports whether nothing will happen in the next moment.
func settled(e client.Event) bool {
	for _, d := range e.Deliveries {
		if d.State != webhook.Pending {
			continue
		}
		switch d.WaitingFor {
		case webhook.WaitDue, webhook.WaitInFlight, webhook.WaitPace:
			return false
		}
	}
	return true
}

// finished reports whether no delivery is pending.
func finished(e client.Event) bool {
	return !slices.ContainsFunc(e.Deliveries, func(d client.Delivery) bool { return d.State == webhook.Pending })
}

// outcome prints the state of each delivery.
func (s sending) outcome(e client.Event) error {
	var failed error
	for _, d := range e.Deliveries {
		s.stage(string(d.State), "%s", summary(d, time.Now()))
		if d.State == webhook.Dead {
			failed = errDead
		}
	}
	return failed
}

// summary says in a line what state a delivery is in, and what its destination
// answered last.
func summary(d client.Delivery, now time.Time) string {
	line := d.Destination + ": " + standing(d, now)
	last := len(d.Attempts) - 1
	switch {
	case d.State == webhook.Delivered || last < 0:
		return line
	case d.Attempts[last].Status != 0:
		line += "; it answered"
	default:
		line += ";"
	}
	return line + " " + answerOf(d.Attempts[last])
}
