package signature

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

// postChallenge signs a body with the sample's headers and verifies it.
func postChallenge(t *testing.T, scheme, body string, headers map[string]string) Verdict {
	t.Helper()
	v := newVerifier(t, testConfig(scheme))
	r := v.Sample(testID, testNow)
	r.Body = []byte(body)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r, err := v.Sign(r, testID, testNow)
	if err != nil {
		t.Fatal(err)
	}
	got := v.Verify(r, testNow)
	r.Body = append(r.Body, ' ')
	if altered := v.Verify(r, testNow); altered.Challenge != nil || altered.Result != webhook.ResultBadSignature {
		t.Errorf("an altered handshake is %s", altered.Result)
	}
	return got
}

func TestSignedHandshakes(t *testing.T) {
	text, object := "text/plain; charset=utf-8", "application/json"
	for name, c := range map[string]struct {
		scheme, body string
		headers      map[string]string
		status       int
		contentType  string
		want         string
	}{
		"slack": {"slack", `{"type":"url_verification","challenge":"c<b>"}`, nil, 200, text, "c<b>"},
		"zoom": {
			"zoom", `{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}`, nil, 200, object,
			// HMAC-SHA256 of the token under "secret-of-zoom", computed apart.
			`{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"7ba36916c4848a78bebc7784ed8201a5627ee3cabe6dadf1e486b89d45f1979b"}`,
		},
		"twitch":                {"twitch", `{"challenge":"pogchamp-kappa"}`, map[string]string{twitchType: "webhook_callback_verification"}, 200, text, "pogchamp-kappa"},
		"discord, interactions": {"discord", `{"type":1,"id":"1"}`, nil, 200, object, `{"type":1}`},
		"discord, events":       {"discord", `{"version":1,"type":0}`, nil, 204, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := postChallenge(t, c.scheme, c.body, c.headers)
			if got.Result != webhook.ResultChallenge || got.Challenge == nil || got.Key != "" {
				t.Fatalf("%s (%s)", got.Result, got.Reason)
			}
			if got.Challenge.Status != c.status || string(got.Challenge.Body) != c.want {
				t.Errorf("answer %d %q, want %d %q", got.Challenge.Status, got.Challenge.Body, c.status, c.want)
			}
			if got.Challenge.Header.Get("Content-Type") != c.contentType || got.Challenge.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers %v", got.Challenge.Header)
			}
		})
	}
}

func TestWhatLooksLikeAHandshakeAndIsNone(t *testing.T) {
	long := strings.Repeat("c", maxChallenge+1)
	for name, c := range map[string]struct {
		scheme, body string
		headers      map[string]string
	}{
		"slack, too long":            {"slack", `{"type":"url_verification","challenge":"` + long + `"}`, nil},
		"slack, without a challenge": {"slack", `{"type":"url_verification"}`, nil},
		"slack, another type":        {"slack", `{"type":"event_callback","challenge":"c"}`, nil},
		"slack, deeper":              {"slack", `{"event":{"type":"url_verification","challenge":"c"}}`, nil},
		"zoom, too long":             {"zoom", `{"event":"endpoint.url_validation","payload":{"plainToken":"` + long + `"}}`, nil},
		"twitch, a notification":     {"twitch", `{"challenge":"c"}`, nil},
		"discord, an event":          {"discord", `{"type":1,"event":{"type":"APPLICATION_AUTHORIZED"}}`, nil},
		"discord, a command":         {"discord", `{"type":2}`, nil},
		"github's ping":              {"github", `{"zen":"z","challenge":"c"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := postChallenge(t, c.scheme, c.body, c.headers); got.Result != webhook.ResultAccepted || got.Challenge != nil {
				t.Errorf("%s (%s)", got.Result, got.Reason)
			}
		})
	}
}

func TestTwitchRevocationAlerts(t *testing.T) {
	revoked := map[string]string{twitchType: "revocation"}
	got := postChallenge(t, "twitch", `{"subscription":{"status":"notification_failures_exceeded"}}`, revoked)
	if got.Result != webhook.ResultAccepted || got.Alert != "Twitch has revoked a subscription: notification_failures_exceeded" {
		t.Errorf("%s, alert %q", got.Result, got.Alert)
	}
	if got := postChallenge(t, "twitch", `{"subscription":{"status":"<script>"}}`, revoked); !strings.HasSuffix(got.Alert, ": unknown") {
		t.Errorf("alert %q", got.Alert)
	}
}

func TestGraphValidationComesAfterTheToken(t *testing.T) {
	config := testConfig("token")
	config.TokenIn = "query:key"
	v := newVerifier(t, config)
	ask := func(target, body string) Verdict {
		return v.Verify(Request{Method: "POST", Target: target, Header: http.Header{}, Body: []byte(body)}, testNow)
	}
	right := "/hooks/graph?key=" + url.QueryEscape(testSecret("token"))
	if got := ask(right+"&validationToken=a%20b%3C", ""); got.Result != webhook.ResultChallenge || string(got.Challenge.Body) != "a b<" {
		t.Errorf("%s, answer %+v", got.Result, got.Challenge)
	}
	for target, body := range map[string]string{
		"/hooks/graph?validationToken=a":               "",
		"/hooks/graph?key=wrong&validationToken=a":     "",
		right + "&validationToken=a":                   `{"value":[]}`,
		right + "&validationToken=a&validationToken=b": "",
		right: "",
	} {
		if got := ask(target, body); got.Challenge != nil || got.Result == webhook.ResultChallenge {
			t.Errorf("%s with %q: answer %+v", target, body, got.Challenge)
		}
	}
}

func TestHandshakesByOtherMethods(t *testing.T) {
	long := strings.Repeat("c", maxChallenge+1)
	meta := "/hooks/meta?hub.mode=subscribe&hub.verify_token=v-token&hub.challenge="
	for name, c := range map[string]struct {
		scheme, method, target string
		answered               bool
		result                 webhook.Result
		status                 int
		body                   string
	}{
		"meta":                         {"meta", "GET", meta + "12%3C3", true, webhook.ResultChallenge, 200, "12<3"},
		"meta by HEAD":                 {"meta", "HEAD", meta + "1", true, webhook.ResultChallenge, 200, "1"},
		"meta, wrong token":            {"meta", "GET", "/m?hub.mode=subscribe&hub.verify_token=v-toke&hub.challenge=1", true, webhook.ResultBadSignature, 403, "wrong verify token\n"},
		"meta, no token":               {"meta", "GET", "/m?hub.mode=subscribe&hub.challenge=1", true, webhook.ResultBadSignature, 403, "wrong verify token\n"},
		"meta, another mode":           {"meta", "GET", "/m?hub.mode=other&hub.verify_token=v-token&hub.challenge=1", true, webhook.ResultBadSignature, 403, "wrong verify token\n"},
		"meta, no challenge":           {"meta", "GET", meta, true, webhook.ResultMalformed, 400, "no usable challenge in the query\n"},
		"meta, too long":               {"meta", "GET", meta + long, true, webhook.ResultMalformed, 400, "no usable challenge in the query\n"},
		"meta, no handshake":           {"meta", "GET", "/hooks/meta", false, "", 0, ""},
		"dropbox":                      {"dropbox", "GET", "/d?challenge=abc", true, webhook.ResultChallenge, 200, "abc"},
		"dropbox, two":                 {"dropbox", "GET", "/d?challenge=a&challenge=b", true, webhook.ResultMalformed, 400, "no usable challenge in the query\n"},
		"dropbox, none":                {"dropbox", "GET", "/d", false, "", 0, ""},
		"dropbox by OPTIONS":           {"dropbox", "OPTIONS", "/d?challenge=a", false, "", 0, ""},
		"cloudevents without origin":   {"cloudevents", "OPTIONS", "/c", true, webhook.ResultMalformed, 400, "no usable WebHook-Request-Origin\n"},
		"cloudevents by GET":           {"cloudevents", "GET", "/c", false, "", 0, ""},
		"a scheme without a handshake": {"github", "GET", "/g?challenge=a", false, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := testConfig(c.scheme)
			config.VerifyToken = "v-token"
			got, answered := newVerifier(t, config).Handshake(Request{Method: c.method, Target: c.target, Header: http.Header{}})
			if answered != c.answered || got.Result != c.result || got.Secret != -1 {
				t.Fatalf("%v, %s", answered, got.Result)
			}
			if !answered {
				return
			}
			if got.Challenge.Status != c.status || string(got.Challenge.Body) != c.body || got.Challenge.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("answer %+v", got.Challenge)
			}
		})
	}
}

func TestMetaWithoutAVerifyTokenRefuses(t *testing.T) {
	v := newVerifier(t, testConfig("meta"))
	got, _ := v.Handshake(Request{Method: "GET", Target: "/m?hub.mode=subscribe&hub.verify_token=&hub.challenge=1"})
	if got.Result != webhook.ResultBadSignature {
		t.Errorf("%s", got.Result)
	}
}

func TestCloudEventsHandshake(t *testing.T) {
	config := testConfig("cloudevents")
	config.AllowedRate = 3000
	v := newVerifier(t, config)
	got, _ := v.Handshake(Request{Method: "OPTIONS", Target: "/c", Header: http.Header{"Webhook-Request-Origin": {"events.example"}}})
	if !v.AnswersOptions() || newVerifier(t, testConfig("github")).AnswersOptions() {
		t.Error("OPTIONS is for cloudevents alone")
	}
	want := http.Header{
		"Allow": {"GET, HEAD, POST, OPTIONS"}, "Webhook-Allowed-Origin": {"events.example"},
		"Webhook-Allowed-Rate": {"3000"}, "X-Content-Type-Options": {"nosniff"},
	}
	if diff := cmp.Diff(want, got.Challenge.Header); diff != "" || got.Challenge.Status != 200 {
		t.Errorf("status %d, %s", got.Challenge.Status, diff)
	}
	for _, origin := range []string{"", "a b", "a\x00", strings.Repeat("a", 254), "é"} {
		got, _ := v.Handshake(Request{Method: "OPTIONS", Header: http.Header{"Webhook-Request-Origin": {origin}}})
		if got.Result != webhook.ResultMalformed {
			t.Errorf("%q: %s", origin, got.Result)
		}
	}
}

// FuzzHandshake holds the bounds of what is echoed.
func FuzzHandshake(f *testing.F) {
	f.Add("GET", "/m?hub.mode=subscribe&hub.verify_token=v&hub.challenge=1", "o")
	f.Add("HEAD", "/d?challenge=%zz&challenge=1", "")
	f.Add("OPTIONS", "?", "a.example")
	f.Fuzz(func(t *testing.T, method, target, origin string) {
		for _, scheme := range []string{"meta", "dropbox", "cloudevents", "github"} {
			config := testConfig(scheme)
			config.VerifyToken = "v"
			got, answered := newVerifier(t, config).Handshake(Request{
				Method: method, Target: target, Header: http.Header{"Webhook-Request-Origin": {origin}},
			})
			if answered != (got.Challenge != nil) {
				t.Fatalf("answered %v with %+v", answered, got.Challenge)
			}
			if answered && len(got.Challenge.Body) > maxChallenge {
				t.Errorf("an answer of %d bytes", len(got.Challenge.Body))
			}
			if answered && strings.ContainsAny(got.Challenge.Header.Get("Webhook-Allowed-Origin"), "\r\n\x00") {
				t.Error("a line break in a header")
			}
		}
	})
}

// post sends a body without a signature.
func post(v *Verifier, contentType, body string) Verdict {
	return v.Verify(Request{
		Method: "POST", Target: "/hooks/x", Header: http.Header{"Content-Type": {contentType}}, Body: []byte(body),
	}, testNow)
}

func TestUnsignedPings(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	woo := hmacConfig(HMAC{})
	woo.HMAC.Header = "X-WC-Webhook-Signature"
	for name, c := range map[string]struct {
		config            Config
		contentType, body string
		want              webhook.Result
	}{
		"Slack's check of the certificate": {testConfig("slack"), form, "ssl_check=1&token=t", webhook.ResultChallenge},
		"Slack without it":                 {testConfig("slack"), form, "command=%2Ftide", webhook.ResultBadSignature},
		"Slack's check in JSON":            {testConfig("slack"), "application/json", "ssl_check=1", webhook.ResultBadSignature},
		"WooCommerce":                      {woo, form, "webhook_id=5", webhook.ResultChallenge},
		"WooCommerce and more":             {woo, form, "webhook_id=5&a=b", webhook.ResultBadSignature},
		"WooCommerce without a number":     {woo, form, "webhook_id=", webhook.ResultBadSignature},
		"another hmac source":              {hmacConfig(HMAC{}), form, "webhook_id=5", webhook.ResultBadSignature},
		"github":                           {testConfig("github"), form, "webhook_id=5", webhook.ResultBadSignature},
	} {
		got := post(newVerifier(t, c.config), c.contentType, c.body)
		if got.Result != c.want || (got.Challenge != nil && (got.Challenge.Status != 200 || len(got.Challenge.Body) > 0)) {
			t.Errorf("%s: %s %+v", name, got.Result, got.Challenge)
		}
	}
	v := newVerifier(t, woo)
	r := Request{Method: "POST", Header: http.Header{"Content-Type": {form}, "X-Wc-Webhook-Signature": {"00"}}, Body: []byte("webhook_id=5")}
	if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
		t.Errorf("a ping with a wrong signature is %s", got.Result)
	}
}

func TestHandshakesOfSendersWithoutAScheme(t *testing.T) {
	grid := `[{"id":"1","eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","data":{"validationCode":"512d-a"}}]`
	for body, want := range map[string]string{
		`{"challenge":"c-1"}`:                `{"challenge":"c-1"}`,
		`{"verification_token":"v"}`:         `{"verification_token":"v"}`,
		grid:                                 `{"validationResponse":"512d-a"}`,
		`{"challenge":"c-1","event":"more"}`: "",
		`{"challenge":7}`:                    "",
		`{"id":"c-1"}`:                       "",
		`[]`:                                 "",
		`{"challenge":"` + strings.Repeat("c", maxChallenge+1) + `"}`: "",
	} {
		for _, scheme := range []string{"hmac", "token", "basic", "none"} {
			got := newVerifier(t, testConfig(scheme)).Verify(signedBodyOf(t, scheme, body), testNow)
			if (got.Challenge != nil) != (want != "") || got.Challenge != nil && string(got.Challenge.Body) != want {
				t.Errorf("%s, %.60s: %s %+v", scheme, body, got.Result, got.Challenge)
			}
			if scheme == "none" {
				continue
			}
			if bare := post(newVerifier(t, testConfig(scheme)), "application/json", body); bare.Challenge != nil {
				t.Errorf("%s, %.60s: answered without a proof", scheme, body)
			}
		}
	}
}

func signedBodyOf(t *testing.T, scheme, body string) Request {
	t.Helper()
	return signWith(t, testConfig(scheme), Request{Method: "POST", Target: "/hooks/x", Header: http.Header{}, Body: []byte(body)}, testNow)
}

func TestReadingHandshakesOfSendersWithoutAScheme(t *testing.T) {
	config := testConfig("token")
	config.VerifyToken = "tide"
	for name, c := range map[string]struct {
		query  string
		header http.Header
		status int
		body   string
	}{
		"Strava":                {"?hub.mode=subscribe&hub.verify_token=tide&hub.challenge=15f7", nil, 200, `{"hub.challenge":"15f7"}`},
		"Strava, another token": {"?hub.mode=subscribe&hub.verify_token=ebb&hub.challenge=15f7", nil, 403, ""},
		"Strava, no mode":       {"?hub.verify_token=tide&hub.challenge=15f7", nil, 403, ""},
		"Nylas":                 {"?challenge=bc609b38", nil, 200, "bc609b38"},
		"Okta":                  {"", http.Header{oktaChallenge: {"o-1"}, "Authorization": {"Bearer secret-of-token"}}, 200, `{"verification":"o-1"}`},
		"Okta, not verified":    {"", http.Header{oktaChallenge: {"o-1"}}, 401, ""},
		"nothing of the kind":   {"?a=b", nil, 0, ""},
	} {
		got, meant := newVerifier(t, config).Handshake(Request{Method: "GET", Target: "/hooks/x" + c.query, Header: c.header})
		if meant != (c.status != 0) || meant && got.Challenge.Status != c.status {
			t.Errorf("%s: %v %+v", name, meant, got.Challenge)
			continue
		}
		if c.body != "" && (string(got.Challenge.Body) != c.body || got.Challenge.Header.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s: %q %v", name, got.Challenge.Body, got.Challenge.Header)
		}
	}
	if got, _ := newVerifier(t, testConfig("none")).Handshake(Request{Method: "GET", Target: "/hooks/x?hub.mode=subscribe&hub.verify_token=&hub.challenge=1"}); got.Result != webhook.ResultBadSignature {
		t.Errorf("without VERIFY_TOKEN: %s", got.Result)
	}
}
