package signature

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

// signWith signs a request with the configuration's current secret.
func signWith(t testing.TB, config Config, r Request, at time.Time) Request {
	t.Helper()
	signed, err := newVerifier(t, config).Sign(r, testID, at)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestB11KeyIsTheSendersOwnIDWhateverHopsAdd(t *testing.T) {
	for scheme, want := range wantKeys() {
		v := newVerifier(t, testConfig(scheme))
		r := signSample(t, v)
		for i := range 3 {
			r.Header.Set("X-Request-Id", fmt.Sprint("hop-", i))
			r.Header.Set("Traceparent", fmt.Sprint("00-", i))
			r.Header.Set("Date", testNow.Add(time.Duration(i)*time.Minute).Format(http.TimeFormat))
			if got := v.Verify(r, testNow); got.Key != want[0] {
				t.Errorf("%s: key %q, want %q", scheme, got.Key, want[0])
			}
		}
	}
}

func TestB19TheExactBytesAreWhatIsSigned(t *testing.T) {
	bodies := []string{
		`{"text":"\u001B[0m"}`, "{ \"a\" :\t1.0 ,\r\n\"b\":[ ] }\n", `{"id":"first","id":"second"}`,
		`payload=%7B%22a%22%3A1.0%7D`, "\xef\xbb\xbf{}", "", "\xff\xfe not text \x00",
	}
	types := []string{"application/json", "application/json; charset=utf-8", "application/x-www-form-urlencoded", ""}
	config := testConfig("github")
	v := newVerifier(t, config)
	for _, body := range bodies {
		for _, contentType := range types {
			r := Request{Method: "POST", Header: http.Header{}, Body: []byte(body)}
			if contentType != "" {
				r.Header.Set("Content-Type", contentType)
			}
			r = signWith(t, config, r, testNow)
			if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted {
				t.Errorf("%q as %q: %s", body, contentType, got.Reason)
			}
			r.Body = append([]byte(body), ' ')
			if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
				t.Errorf("%q with a space more: %s", body, got.Result)
			}
		}
	}
}

func gzipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestB20CompressedBodies(t *testing.T) {
	text := []byte(`{"id":"inside"}`)
	overPlain := signWith(t, testConfig("stripe"), Request{Method: "POST", Body: text}, testNow).Header.Get("Stripe-Signature")
	packed := gzipped(t, text)
	overWire := signWith(t, testConfig("stripe"), Request{Method: "POST", Body: packed}, testNow).Header.Get("Stripe-Signature")
	bomb := gzipped(t, bytes.Repeat([]byte("0"), 2<<20))
	for name, c := range map[string]struct {
		setting, coding, signature string
		body                       []byte
		want                       webhook.Result
		key                        string
	}{
		"wire, signed compressed":         {"", "gzip", overWire, packed, webhook.ResultAccepted, "inside"},
		"wire, signed plain":              {"wire", "gzip", overPlain, packed, webhook.ResultBadSignature, ""},
		"decoded, signed plain":           {"decoded", "gzip", overPlain, packed, webhook.ResultAccepted, "inside"},
		"decoded, upper case":             {"decoded", "GZIP", overPlain, packed, webhook.ResultAccepted, "inside"},
		"decoded, signed compressed":      {"decoded", "gzip", overWire, packed, webhook.ResultBadSignature, ""},
		"decoded, not compressed at all":  {"decoded", "", overPlain, text, webhook.ResultAccepted, "inside"},
		"decoded, a bomb":                 {"decoded", "gzip", overPlain, bomb, webhook.ResultTooLarge, ""},
		"decoded, an unknown coding":      {"decoded", "br", overPlain, packed, webhook.ResultUnsupported, ""},
		"decoded, two codings":            {"decoded", "gzip, gzip", overPlain, packed, webhook.ResultUnsupported, ""},
		"decoded, half a body":            {"decoded", "gzip", overPlain, packed[:len(packed)/2], webhook.ResultMalformed, ""},
		"decoded, no gzip at all":         {"decoded", "gzip", overPlain, text, webhook.ResultMalformed, ""},
		"wire, an unknown coding is kept": {"wire", "br", overWire, packed, webhook.ResultAccepted, bodyDigest("stripe", packed)},
	} {
		t.Run(name, func(t *testing.T) {
			config := testConfig("stripe")
			config.SignedBody = c.setting
			r := Request{Method: "POST", Header: http.Header{"Stripe-Signature": {c.signature}}, Body: c.body}
			if c.coding != "" {
				r.Header.Set("Content-Encoding", c.coding)
			}
			got := newVerifier(t, config).Verify(r, testNow)
			if got.Result != c.want || got.Key != c.key {
				t.Errorf("%s (%s) with key %q, want %s with %q", got.Result, got.Reason, got.Key, c.want, c.key)
			}
		})
	}
}

func TestB20ABombOnTheWireIsKnownByItsBytes(t *testing.T) {
	config := testConfig("stripe")
	bomb := gzipped(t, append([]byte(`{"id":"x","pad":"`), bytes.Repeat([]byte("0"), 2<<20)...))
	r := Request{Method: "POST", Header: http.Header{"Content-Encoding": {"gzip"}}, Body: bomb}
	got := newVerifier(t, config).Verify(signWith(t, config, r, testNow), testNow)
	if got.Result != webhook.ResultAccepted || got.Key != bodyDigest("stripe", bomb) || got.KeyFrom != "body" {
		t.Errorf("%s with key %q", got.Result, got.Key)
	}
}

func TestB20TheLimitIsOnTheInflatedSize(t *testing.T) {
	config := testConfig("github")
	config.SignedBody, config.MaxBody = SignedDecoded, 1000
	for size, want := range map[int]webhook.Result{1000: webhook.ResultAccepted, 1001: webhook.ResultTooLarge} {
		text := bytes.Repeat([]byte("0"), size)
		r := signWith(t, testConfig("github"), Request{Method: "POST", Body: text}, testNow)
		r.Header.Set("Content-Encoding", "gzip")
		r.Body = gzipped(t, text)
		if got := newVerifier(t, config).Verify(r, testNow); got.Result != want {
			t.Errorf("%d bytes: %s, want %s", size, got.Result, want)
		}
	}
}

func TestB21NoSecretIsRefused(t *testing.T) {
	for _, scheme := range Schemes() {
		if scheme == "none" {
			continue
		}
		for _, secrets := range [][]string{nil, {""}, {"  \t\n"}, {testSecret(scheme), " "}} {
			config := testConfig(scheme)
			config.Secrets = secrets
			if _, err := New(config); err == nil {
				t.Errorf("%s with the secrets %q was taken", scheme, secrets)
			}
		}
	}
}

func TestB21OnlyTheSchemeNoneIsUnsigned(t *testing.T) {
	for _, scheme := range Schemes() {
		v := newVerifier(t, testConfig(scheme))
		if v.Unsigned() != (scheme == "none") {
			t.Errorf("%s: unsigned %v", scheme, v.Unsigned())
		}
		bare := Request{Method: "POST", Target: "/hooks/x", Header: http.Header{}, Body: []byte("{}")}
		if got := v.Verify(bare, testNow); (got.Result == webhook.ResultAccepted) != (scheme == "none") {
			t.Errorf("%s: an unsigned request is %s", scheme, got.Result)
		}
	}
}

func TestB22BothSecretsAreAccepted(t *testing.T) {
	for _, scheme := range []string{"github", "stripe", "standard", "gitlab", "token", "basic", "twilio", "telegram"} {
		sender := testConfig(scheme)
		receiver := sender
		other := "another-secret"
		if form, own := map[string]string{"standard": "whsec_c2Vjb25kLXNlY3JldA==", "basic": "harbour:low-water"}[scheme]; own {
			other = form
		}
		receiver.Secrets = []string{other, sender.Secrets[0]}
		r := signSample(t, newVerifier(t, sender))
		for place, secrets := range [][]string{{sender.Secrets[0], receiver.Secrets[0]}, receiver.Secrets} {
			receiver.Secrets = secrets
			got := newVerifier(t, receiver).Verify(r, testNow)
			if got.Result != webhook.ResultAccepted || got.Secret != place {
				t.Errorf("%s: %s by secret %d, want %d", scheme, got.Result, got.Secret, place)
			}
		}
		receiver.Secrets = []string{other}
		if got := newVerifier(t, receiver).Verify(r, testNow); got.Result != webhook.ResultBadSignature || got.Secret != -1 {
			t.Errorf("%s: a removed secret is %s by secret %d", scheme, got.Result, got.Secret)
		}
	}
}

func TestB22TenSignaturesAreLookedAt(t *testing.T) {
	for scheme, name := range map[string]string{
		"standard": "webhook-signature", "stripe": "Stripe-Signature",
		"paddle": "Paddle-Signature", "pagerduty": "X-PagerDuty-Signature",
	} {
		v := newVerifier(t, testConfig(scheme))
		s := v.proofs[0].(*signed)
		r := signSample(t, v)
		stamp, right := "", r.Header.Get(name)
		if s.stamp.item != "" {
			stamp, right, _ = strings.Cut(right, s.separator)
			stamp += s.separator
		}
		wrong := flip(right, len(s.marks[0].prefix)) + s.separator
		for before, want := range map[int]webhook.Result{
			0: webhook.ResultAccepted, 9: webhook.ResultAccepted,
			10: webhook.ResultBadSignature, 1000: webhook.ResultBadSignature,
		} {
			r.Header.Set(name, stamp+strings.Repeat(wrong, before)+right)
			if got := v.Verify(r, testNow); got.Result != want {
				t.Errorf("%s: %d wrong signatures before the right one: %s, want %s", scheme, before, got.Result, want)
			}
		}
	}
}

// timed are schemes with the forms of timestamp that there are.
var timed = map[string]func(time.Time) string{
	"standard": func(at time.Time) string { return fmt.Sprint(at.Unix()) },
	"stripe":   func(at time.Time) string { return fmt.Sprint(at.Unix()) },
	"slack":    func(at time.Time) string { return fmt.Sprint(at.Unix()) },
	"discord":  func(at time.Time) string { return fmt.Sprint(at.Unix()) },
	"zoom":     func(at time.Time) string { return fmt.Sprint(at.Unix()) },
	"paddle":   func(at time.Time) string { return fmt.Sprint(at.Unix()) },
	"hmac":     func(at time.Time) string { return fmt.Sprint(at.Unix()) },
	"hubspot":  func(at time.Time) string { return fmt.Sprint(at.UnixMilli()) },
	"twitch":   func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) },
}

// stamped signs a request with any text for its timestamp.
func stamped(t testing.TB, v *Verifier, text string) Request {
	t.Helper()
	r := v.Sample(testID, testNow)
	v.addHeaders(r.Header, testID, testNow)
	s := v.proofs[0].(*signed)
	in := &input{Request: r, signed: r.Body, stamp: text, url: v.publicURL(r.Target)}
	if s.idHeader != "" {
		in.id = r.Header.Get(s.idHeader)
	}
	m, _ := s.markFor(in, v.secrets[0])
	sum, refused := s.content.digest(in, v.secrets[0], m.algorithm)
	if refused != nil {
		t.Fatal(refused.reason)
	}
	if v.secrets[0].private != nil {
		sum = ed25519.Sign(v.secrets[0].private, sum)
	}
	value := m.prefix + s.encoding.encode(sum)
	if s.stamp.item != "" {
		value = s.stamp.item + text + s.separator + value
	} else {
		r.Header.Set(s.stamp.header, text)
	}
	r.Header.Set(s.header, value)
	return r
}

func TestB23TheSendersClock(t *testing.T) {
	for scheme, form := range timed {
		v := newVerifier(t, testConfig(scheme))
		for name, c := range map[string]struct {
			stamp string
			want  webhook.Result
		}{
			"2 s ahead":          {form(testNow.Add(2 * time.Second)), webhook.ResultAccepted},
			"299 s ahead":        {form(testNow.Add(299 * time.Second)), webhook.ResultAccepted},
			"301 s ahead":        {form(testNow.Add(301 * time.Second)), webhook.ResultStale},
			"299 s ago":          {form(testNow.Add(-299 * time.Second)), webhook.ResultAccepted},
			"301 s ago":          {form(testNow.Add(-301 * time.Second)), webhook.ResultStale},
			"10 years":           {form(testNow.AddDate(10, 0, 0)), webhook.ResultStale},
			"the epoch":          {form(time.Unix(0, 0)), webhook.ResultStale},
			"negative":           {"-1790000000", webhook.ResultBadSignature},
			"not a number":       {"soon", webhook.ResultBadSignature},
			"a fraction":         {"1790000000.0", webhook.ResultBadSignature},
			"a plus":             {"+1790000000", webhook.ResultBadSignature},
			"other digits":       {"１７９０００００００", webhook.ResultBadSignature},
			"too long":           {strings.Repeat("9", 30), webhook.ResultBadSignature},
			"the largest number": {"9223372036854775807", webhook.ResultBadSignature},
			"year one":           {"0001-01-01T00:00:00Z", webhook.ResultBadSignature},
		} {
			got := v.Verify(stamped(t, v, c.stamp), testNow)
			if got.Result != c.want || (got.Result != webhook.ResultAccepted) != (got.Reason != "") {
				t.Errorf("%s, %s: %s (%s), want %s", scheme, name, got.Result, got.Reason, c.want)
			}
		}
	}
}

func TestB23AnotherUnitOfTimeIsRefused(t *testing.T) {
	for scheme, stamp := range map[string]string{
		"standard": "1790000000000", "stripe": "1790000000000", "hubspot": "1790000000", "slack": "999999999999999",
	} {
		v := newVerifier(t, testConfig(scheme))
		if got := v.Verify(stamped(t, v, stamp), testNow); got.Result != webhook.ResultStale {
			t.Errorf("%s with %s: %s (%s)", scheme, stamp, got.Result, got.Reason)
		}
	}
}

func TestB23StaleIsToldOnlyOfARightSignature(t *testing.T) {
	config := testConfig("slack")
	r := signSample(t, newVerifier(t, config))
	config.Secrets = []string{"another"}
	got := newVerifier(t, config).Verify(r, testNow.Add(time.Hour))
	if got.Result != webhook.ResultBadSignature {
		t.Errorf("a wrong and old signature is %s", got.Result)
	}
}

func TestB23TheReasonSaysByHowMuch(t *testing.T) {
	v := newVerifier(t, testConfig("stripe"))
	r := signSample(t, v)
	want := Verdict{Result: webhook.ResultStale, Reason: "timestamp too old by 12s", Secret: -1}
	if diff := cmp.Diff(want, v.Verify(r, testNow.Add(312*time.Second))); diff != "" {
		t.Error(diff)
	}
	want.Reason = "timestamp too far ahead by 12s"
	if diff := cmp.Diff(want, v.Verify(r, testNow.Add(-312*time.Second))); diff != "" {
		t.Error(diff)
	}
}

func TestB23LinearsTimeIsInTheBody(t *testing.T) {
	v := newVerifier(t, testConfig("linear"))
	r := signSample(t, v)
	if got := v.Verify(r, testNow.Add(301*time.Second)); got.Result != webhook.ResultStale {
		t.Errorf("301 s later: %s", got.Result)
	}
	r.Body = []byte(`{"action":"create"}`)
	r = signWith(t, testConfig("linear"), r, testNow)
	if got := v.Verify(r, testNow.Add(301*time.Second)); got.Result != webhook.ResultBadSignature {
		t.Errorf("without a time: %s (%s)", got.Result, got.Reason)
	}
}

// proofHeaders names every header that a proof of the scheme is read from.
func proofHeaders(v *Verifier) []string {
	var names []string
	for _, p := range v.all {
		names = append(names, p.headers()...)
	}
	return canonical(names)
}

// TestB80NoVerdictHoldsAValue fills every header and the body with canaries.
func TestB80NoVerdictHoldsAValue(t *testing.T) {
	for scheme := range wantKeys() {
		v := newVerifier(t, testConfig(scheme))
		r := v.Sample(testID, testNow)
		for _, name := range proofHeaders(v) {
			r.Header.Set(name, "canary-value")
		}
		r.Header.Set("Authorization", "Bearer canary-value")
		r.Target += "?token=canary-value"
		r.Body = []byte(`{"canary-value":"canary-value"}`)
		if got := v.Verify(r, testNow); strings.Contains(got.Reason, "canary") {
			t.Errorf("%s: %q", scheme, got.Reason)
		}
	}
}
