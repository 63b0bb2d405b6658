package handler

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/webhook"
)

// refusedShown is a refusal as a client reads it.
type refusedShown struct {
	At, Source, Reason, Remedy, Request string
	Result                              webhook.Result
	Size                                int64
	Headers                             []string
	Count                               int
}

// refused asks for the refusals by a query.
func (h *house) refused(query string) []refusedShown {
	h.t.Helper()
	answer := h.operator("GET /v1/refusals"+query, "")
	wants(h.t, answer, http.StatusOK)
	return decode[struct{ Items []refusedShown }](h.t, answer.Body.Bytes()).Items
}

// TestARefusalIsKeptWithItsReasonAndWhatToDo, and without anything secret.
func TestARefusalIsKeptWithItsReasonAndWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.do("POST /hooks/github?token=hidden", `{"a":1}`, "X-Signature: hidden-value", "X-Delivery: k1", "X-Request-Id: my-request")
		<-time.After(time.Second)
		h.do("POST /hooks/nobody-has-this", `{}`)
		<-time.After(time.Second)
		h.do("POST /hooks/github", strings.Repeat("x", 2<<20))
		<-time.After(time.Second)
		h.send("k2", `{}`)
		all := h.refused("")
		if len(all) != 3 {
			t.Fatalf("%d refusals: %+v", len(all), all)
		}
		for i, want := range []webhook.Result{webhook.ResultTooLarge, webhook.ResultUnknownSource, webhook.ResultBadSignature} {
			if all[i].Result != want || all[i].Reason == "" || all[i].Remedy == "" || all[i].Count != 1 || all[i].Request == "" {
				t.Errorf("refusal %d: %+v, want %s", i, all[i], want)
			}
		}
		if got := all[2]; got.Source != "github" || got.Size != 7 || got.Request != "my-request" || strings.Join(got.Headers, ",") != "X-Delivery,X-Request-Id,X-Signature" {
			t.Errorf("%+v", got)
		}
		if text := fmt.Sprintf("%+v", all); strings.Contains(text, "hidden") {
			t.Errorf("a value is kept: %s", text)
		}
		for query, want := range map[string]int{
			"?source=github": 2, "?source=unknown": 1, "?result=too_large": 1, "?source=github&result=stale": 0,
			"?since=" + all[1].At: 2,
		} {
			if got := len(h.refused(query)); got != want {
				t.Errorf("%s: %d, want %d", query, got, want)
			}
		}
		for _, query := range []string{"?since=now", "?result=odd", "?sauce=x"} {
			wants(t, h.operator("GET /v1/refusals"+query, ""), http.StatusBadRequest)
		}
		wants(t, h.do("GET /v1/refusals", ""), http.StatusUnauthorized)
	})
}

// TestAFloodOfRefusalsIsBounded: a hundred thousand of junk, each from another
// address with other headers, hide nothing of another source; from one address they
// are one line.
func TestAFloodOfRefusalsIsBounded(t *testing.T) {
	kept := new(Refusals)
	kept.note(refusalView{Source: "stripe", Result: webhook.ResultStale, Reason: "timestamp too old by 7m"})
	for i := range 100_000 {
		kept.note(refusalView{
			Source: "github", Result: webhook.ResultBadSignature, Reason: "wrong secret", Client: fmt.Sprint(i),
			Headers: headerNames(http.Header{strings.Repeat("h", 5000): nil}),
		})
		kept.note(refusalView{Source: UnknownSource, Result: webhook.ResultUnknownSource, Client: "192.0.2.1", Request: fmt.Sprint(i)})
	}
	if n := len(kept.list("github", "", time.Time{})); n != keepRefusals {
		t.Errorf("%d are kept", n)
	}
	if one := kept.list("github", "", time.Time{})[0]; len(one.Headers[0]) != keepText {
		t.Errorf("a name of %d bytes is kept", len(one.Headers[0]))
	}
	if one := kept.list(UnknownSource, "", time.Time{}); len(one) != 1 || one[0].Count != 100_000 || one[0].Request != "99999" {
		t.Errorf("from one client: %+v", one)
	}
	if len(kept.list("stripe", "", time.Time{})) != 1 {
		t.Error("another source's refusal is gone")
	}
}

// TestHeadersOfARefusalAreBounded.
func TestHeadersOfARefusalAreBounded(t *testing.T) {
	header := http.Header{}
	for i := range 1000 {
		header.Set(fmt.Sprint("X-", i), "v")
	}
	if n := len(headerNames(header)); n != keepHeaders {
		t.Errorf("%d names are kept", n)
	}
}
