package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/config"
)

// TestATypeIsStoredShownAndForwarded, for GitHub with its action, and for a source
// that is told where its type is.
func TestATypeIsStoredShownAndForwarded(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, append(onlySources("github", "shop"), slices.Concat(inboundSource("github", "github"), inboundSource("shop", "github"), []string{"WEIR_SOURCE_SHOP_TYPE=json:kind"})...)...)
	s.settings["WEIR_URL"] = "http://" + s.address
	wanted := map[string]string{}
	for _, c := range []struct{ source, body, want string }{
		{"github", `{"action":"opened"}`, "push.opened"},
		{"github", `{"action":7,"ref":"main"}`, "push.7"},
		{"github", `{}`, "push"},
		{"shop", `{"kind":"order.paid"}`, "order.paid"},
		{"shop", `{"kind":""}`, ""},
	} {
		id := s.sendTo(c.source, "key "+c.source+c.body, c.body)
		s.awaitState(id, "delivered")
		wanted[id] = c.want
		var shown struct{ Type *string }
		s.show("/v1/events/"+id, &shown)
		if c.want == "" && shown.Type != nil || c.want != "" && (shown.Type == nil || *shown.Type != c.want) {
			t.Errorf("%s of %s: %v, want %q", c.body, c.source, shown.Type, c.want)
		}
		if status, out := s.call("status", id); status != 0 || c.want != "" && !strings.Contains(out, "type      "+c.want) {
			t.Errorf("weir status: %d\n%s", status, out)
		}
	}
	for _, a := range sink.seen() {
		if got := strings.Join(a.header["Weir-Type"], ","); got != wanted[a.event] {
			t.Errorf("Weir-Type %q, want %q", got, wanted[a.event])
		}
	}
	for pattern, want := range map[string]int{"push": 1, "push*": 3, "order.paid": 1, "nothing": 0} {
		var page struct{ Items []struct{} }
		s.show("/v1/events?type="+pattern, &page)
		if len(page.Items) != want {
			t.Errorf("type=%s lists %d events, want %d", pattern, len(page.Items), want)
		}
		if _, out := s.call("events", "--type", pattern, "--json"); strings.Count(out, "\n") != want {
			t.Errorf("weir events --type %s: %s", pattern, out)
		}
	}
	if a, err := s.request("GET", "/v1/events?type=a&type=b", http.Header{"Authorization": {"Bearer " + blackboxToken}}, nil); err != nil || a.status != 400 {
		t.Errorf("two types: %d, %v", a.status, err)
	}
}

// TestEverySampleHasAType, but for the senders that give none.
func TestEverySampleHasAType(t *testing.T) {
	t.Parallel()
	none := map[string]bool{"dropbox": true, "hmac": true, "token": true, "basic": true, "none": true, "sendgrid": true}
	sink := newDownstream(t, answers(200))
	var schemes []string
	for _, name := range config.SchemeNames() {
		if !none[name] {
			schemes = append(schemes, name)
		}
	}
	s := started(t, sink.url, append(sourcesOf(schemes...), "WEIR_SOURCE_META_VERIFY_TOKEN=shown")...)
	s.settings["WEIR_URL"] = "http://" + s.address
	for _, name := range schemes {
		if status, out := s.call("send", name); status != 0 {
			t.Errorf("weir send %s: %d %s", name, status, out)
		}
	}
	for _, a := range sink.seen() {
		if a.header.Get("Weir-Type") == "" {
			t.Errorf("the sample of %s has no type", a.header.Get("Weir-Source"))
		}
	}
	if got := len(sink.seen()); got != len(schemes) {
		t.Errorf("%d samples arrived, want %d", got, len(schemes))
	}
}
