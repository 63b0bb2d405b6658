package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/config"
	"weir/signature"
)

// handshaking is a service with every source that has a handshake.
func handshaking(t *testing.T, more ...string) (*service, *downstream) {
	t.Helper()
	sink := newDownstream(t, answers(200))
	settings := slices.Concat(sourcesOf("slack", "zoom", "twitch", "discord", "meta", "dropbox", config.SchemeToken, "cloudevents"),
		[]string{
			"WEIR_SOURCE_META_VERIFY_TOKEN=the-verify-token", "WEIR_SOURCE_TOKEN_TOKEN_IN=query:key",
			"WEIR_SOURCE_CLOUDEVENTS_RATE=120/1m", "WEIR_REFUSED_RATE=1000/1m",
		}, more)
	return started(t, sink.url, settings...), sink
}

// handshake is a request that makes sure that a receiver is there, and the
// answer that the sender expects.
type handshake struct {
	rule   string
	ask    signature.Request
	status int
	body   string
	header map[string]string
}

// asks makes a handshake by a method other than POST.
func asks(method, target string, header http.Header) signature.Request {
	return signature.Request{Method: method, Target: target, Header: header}
}

// handshakes are those of the senders that make one.
func handshakes(s *service) []handshake {
	secret := url.QueryEscape(blackboxSecret)
	text := map[string]string{"Content-Type": "text/plain; charset=utf-8"}
	twitch := func(kind string) http.Header { return http.Header{"Twitch-Eventsub-Message-Type": {kind}} }
	meta := "/hooks/meta?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
	graph := s.signed(config.SchemeToken, "", "", nil)
	graph.Target = "/hooks/token?key=" + secret + "&validationToken=Validation%3A+%E2%9C%93+%3Cb%3E"
	bare := graph
	bare.Target = "/hooks/token?validationToken=anything"
	origin := http.Header{"Webhook-Request-Origin": {"eventemitter.example.com"}, "Webhook-Request-Rate": {"120"}}
	const payload = `{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}`
	unsigned := s.signed("slack", "", `{"type":"url_verification","challenge":"c"}`, nil)
	unsigned.Header = http.Header{"Content-Type": {"application/json"}}
	return []handshake{
		{"slack", s.signed("slack", "", `{"token":"t","challenge":"3eZbrw1a <b>","type":"url_verification"}`, nil), 200, "3eZbrw1a <b>", text},
		{"slack, unsigned", unsigned, 401, "", nil},
		{"zoom", s.signed("zoom", "", payload, nil), 200,
			`{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"` + macOf("qgg8vlvZRS6UYooatFL8Aw") + `"}`, nil},
		{"twitch", s.signed("twitch", "m1", `{"challenge":"pogchamp-kappa-360noscope"}`, twitch("webhook_callback_verification")), 200, "pogchamp-kappa-360noscope", text},
		{"discord, interactions", s.signed("discord", "", `{"type":1}`, nil), 200, `{"type":1}`, map[string]string{"Content-Type": "application/json"}},
		{"discord, webhook events", s.signed("discord", "", `{"version":1,"type":0}`, nil), 204, "", nil},
		{"meta", asks(http.MethodGet, meta+"the-verify-token", nil), 200, "1158201444", text},
		{"meta, a wrong token", asks(http.MethodGet, meta+"another", nil), 403, "", nil},
		{"dropbox", asks(http.MethodGet, "/hooks/dropbox?challenge=%3Cscript%3E", nil), 200, "<script>", text},
		{"dropbox, HEAD", asks(http.MethodHead, "/hooks/dropbox?challenge=abc", nil), 200, "", text},
		{"dropbox, too long", asks(http.MethodGet, "/hooks/dropbox?challenge="+strings.Repeat("a", 5000), nil), 400, "", nil},
		{"graph", graph, 200, "Validation: ✓ <b>", text},
		{"graph, without the token", bare, 401, "", nil},
		{"cloudevents", asks(http.MethodOptions, "/hooks/cloudevents", origin), 200, "",
			map[string]string{"WebHook-Allowed-Origin": "eventemitter.example.com", "WebHook-Allowed-Rate": "120"}},
		{"cloudevents, nobody asks", asks(http.MethodOptions, "/hooks/cloudevents", nil), 400, "", nil},
		{"OPTIONS elsewhere", asks(http.MethodOptions, "/hooks/slack", origin), 405, "", map[string]string{"Allow": "GET, HEAD, POST"}},
	}
}

func TestHandshakesAreAnsweredAndStoredNowhere(t *testing.T) {
	t.Parallel()
	s, sink := handshaking(t)
	for _, h := range handshakes(s) {
		if h.ask.Header == nil {
			h.ask.Header = http.Header{}
		}
		a := s.submit(h.ask)
		if a.status != h.status || a.status/100 == 2 && a.text != h.body {
			t.Errorf("%s: %d %q, want %d %q", h.rule, a.status, a.text, h.status, h.body)
		}
		if a.status/100 == 2 && a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: a browser may sniff", h.rule)
		}
		for name, want := range h.header {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", h.rule, name, got, want)
			}
		}
	}
	if events := listAll[shownEvent](s, "/v1/events"); len(events) != 0 || len(sink.seen()) != 0 {
		t.Errorf("%d events are stored, %d deliveries", len(events), len(sink.seen()))
	}
	if got := s.counted(intakeOf("dropbox", "challenge")); got != 2 {
		t.Errorf("%d handshakes are counted, want 2", got)
	}
}

func TestARevocationAlertsAndIsDelivered(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Text string }
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &message) != nil {
			t.Errorf("alert %q: %v", body, err)
		}
		mu.Lock()
		defer mu.Unlock()
		told = append(told, message.Text)
	}))
	t.Cleanup(hook.Close)
	s, sink := handshaking(t, "WEIR_ALERT_URL="+hook.URL)
	a := s.submit(s.signed("twitch", "m2", `{"subscription":{"status":"notification_failures_exceeded"}}`,
		http.Header{"Twitch-Eventsub-Message-Type": {"revocation"}}))
	if a.status != 200 {
		t.Fatalf("revocation: %d %s", a.status, a.text)
	}
	await(t, patience, "somebody is told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(told, func(text string) bool {
			return strings.Contains(text, "twitch") && strings.Contains(text, "notification_failures_exceeded")
		})
	})
	s.awaitState(a.receipt.ID, "delivered")
	if len(sink.seen()) != 1 {
		t.Errorf("%d deliveries", len(sink.seen()))
	}
}
