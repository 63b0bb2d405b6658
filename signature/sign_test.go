package signature

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

var (
	testNow  = time.Unix(1790000000, 0)
	testSeed = bytes.Repeat([]byte{7}, 32)
)

const testID = "0193f0c2-0000-7000-8000-000000000001"

// testSecret is a secret of the form that a scheme wants.
func testSecret(scheme string) string {
	switch scheme {
	case "standard":
		return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	case "discord":
		return "seed:" + hex.EncodeToString(testSeed)
	case "basic":
		return "harbour:high-water"
	case "sendgrid":
		return "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYUG9hQGYXiOg494lRr1ikeSA9kIniob1H38BbYJVlZChRANCAATz47ZcZ4LNDpvgsvWtWk6cbBBozb5OP2mlLvi4nMLLhmDxKZuGHyu4UXJ0PBlFoNof8ktSUgsmCLcLxd/e6H+d"
	}
	return "secret-of-" + scheme
}

// testConfig is a usable configuration of a scheme.
func testConfig(scheme string) Config {
	config := Config{
		Scheme: scheme, Source: scheme, PublicURL: "https://weir.example",
		Secrets: []string{testSecret(scheme)},
	}
	if scheme == "none" {
		config.Secrets = nil
	}
	if scheme == "hmac" {
		config.HMAC = HMAC{
			Header: "X-Sig", Encoding: "base64", Prefix: "v1=", TimestampHeader: "X-Sig-Time",
			Template: "{method} {url} {id}.{timestamp}.{body}",
		}
	}
	return config
}

func newVerifier(t testing.TB, config Config) *Verifier {
	t.Helper()
	v, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func signSample(t testing.TB, v *Verifier) Request {
	t.Helper()
	r, err := v.Sign(v.Sample(testID, testNow), testID, testNow)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantKeys is the key that the sample of each scheme of the contract has.
func wantKeys() map[string][2]string {
	number := filler(testID, testNow)("{number}")
	return map[string][2]string{
		"standard":     {testID, "header:webhook-id"},
		"github":       {testID, "header:X-GitHub-Delivery"},
		"gitlab":       {testID, "header:Idempotency-Key"},
		"sendgrid":     {testID, "json:sg_event_id"},
		"mailgun":      {testID, "json:event-data.id"},
		"stripe":       {testID, "json:id"},
		"shopify":      {testID, "header:X-Shopify-Webhook-Id"},
		"slack":        {testID, "json:event_id"},
		"twilio":       {testID, "header:I-Twilio-Idempotency-Token"},
		"discord":      {testID, "json:id"},
		"meta":         {},
		"zoom":         {},
		"twitch":       {testID, "header:Twitch-Eventsub-Message-Id"},
		"square":       {testID, "json:event_id"},
		"paddle":       {testID, "json:event_id"},
		"linear":       {testID, "header:Linear-Delivery"},
		"hubspot":      {number + ":1:1790000000000", "json:eventId+subscriptionId+occurredAt"},
		"pagerduty":    {testID, "json:event.id"},
		"bitbucket":    {testID, "header:X-Request-UUID"},
		"gitea":        {testID, "header:X-Gitea-Delivery"},
		"dropbox":      {},
		"typeform":     {testID, "json:event_id"},
		"intercom":     {testID, "json:id"},
		"telegram":     {number, "json:update_id"},
		"lemonsqueezy": {},
		"cloudevents":  {testID + ":/weir", "header:ce-id+ce-source"},
		"hmac":         {testID, "header:Idempotency-Key"},
		"token":        {testID, "header:Idempotency-Key"},
		"basic":        {testID, "header:Idempotency-Key"},
		"none":         {testID, "header:Idempotency-Key"},
	}
}

// wantTypes are the types of the samples. Senders without one here have no type of
// their own.
func wantTypes() map[string]string {
	return map[string]string{
		"standard": "sample", "github": "ping", "gitlab": "push", "stripe": "ping", "shopify": "orders/create",
		"slack": "app_mention", "twilio": "delivered", "discord": "2", "meta": "page", "zoom": "meeting.started",
		"twitch": "stream.online", "square": "payment.created", "paddle": "transaction.paid", "linear": "Issue",
		"pagerduty": "incident.triggered", "bitbucket": "repo:push", "gitea": "push", "typeform": "form_response",
		"intercom": "ping", "telegram": "message", "lemonsqueezy": "order_created", "cloudevents": "sample",
		"sendgrid": "delivered", "mailgun": "delivered", "hubspot": "contact.creation",
	}
}

func TestSchemesAreThoseOfTheContract(t *testing.T) {
	var want []string
	for name := range wantKeys() {
		want = append(want, name)
	}
	got := Schemes()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsSignedVerifiesForEveryScheme(t *testing.T) {
	for scheme, want := range wantKeys() {
		t.Run(scheme, func(t *testing.T) {
			v := newVerifier(t, testConfig(scheme))
			got := v.Verify(signSample(t, v), testNow)
			place := 0
			if scheme == "none" {
				place = -1
			}
			wanted := Verdict{Result: webhook.ResultAccepted, Key: want[0], KeyFrom: want[1], Type: wantTypes()[scheme], Secret: place}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSigningLeavesTheCallersRequestAlone(t *testing.T) {
	v := newVerifier(t, testConfig("github"))
	r := Request{Method: "POST", Header: http.Header{"X-Github-Event": {"push"}}, Body: []byte("{}")}
	signed, err := v.Sign(r, testID, testNow)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Header) != 1 || signed.Header.Get("X-GitHub-Event") != "push" {
		t.Errorf("the request was changed: %v, %v", r.Header, signed.Header)
	}
	if _, err := v.Sign(Request{}, testID, testNow); err != nil {
		t.Errorf("a request without headers: %v", err)
	}
}

// variants are further forms of signing that the table of schemes has.
func variants() map[string]Config {
	whsec := testSecret("standard")
	hubs := testConfig("hmac")
	hubs.HMAC = HMAC{Header: "X-Sig", Algorithm: "sha512"}
	hubs.Key = "json:data.event.id"
	token := func(in string) Config {
		c := testConfig("token")
		c.TokenIn = in
		return c
	}
	with := func(scheme, secret string) Config {
		c := testConfig(scheme)
		c.Secrets = []string{secret}
		return c
	}
	return map[string]Config{
		"standard v1a":        with("standard", "whsk_"+base64.StdEncoding.EncodeToString(testSeed)),
		"gitlab signing":      with("gitlab", whsec),
		"hmac sha512":         hubs,
		"token in a header":   token("header:x-my-token"),
		"token in the query":  token("query:key"),
		"twitch long secret":  with("twitch", strings.Repeat("s", 100)),
		"stripe whsec secret": with("stripe", whsec),
	}
}

func TestWhatIsSignedVerifiesForEveryVariant(t *testing.T) {
	for name, config := range variants() {
		t.Run(name, func(t *testing.T) {
			v := newVerifier(t, config)
			got := v.Verify(signSample(t, v), testNow)
			if got.Result != webhook.ResultAccepted || got.Key != testID {
				t.Errorf("%s: %s, key %q", got.Result, got.Reason, got.Key)
			}
		})
	}
}

func TestAPublicKeyCannotSign(t *testing.T) {
	for scheme, keys := range map[string][2]string{
		"standard": {"whsk_" + base64.StdEncoding.EncodeToString(testSeed), ""},
		"discord":  {"seed:" + hex.EncodeToString(testSeed), ""},
	} {
		t.Run(scheme, func(t *testing.T) {
			config := testConfig(scheme)
			config.Secrets = []string{keys[0]}
			owner := newVerifier(t, config)
			public := "whpk_" + base64.StdEncoding.EncodeToString(owner.secrets[0].key)
			if scheme == "discord" {
				public = hex.EncodeToString(owner.secrets[0].key)
			}
			config.Secrets = []string{public}
			receiver := newVerifier(t, config)
			if got := receiver.Verify(signSample(t, owner), testNow); got.Result != webhook.ResultAccepted {
				t.Errorf("the owner's signature: %s (%s)", got.Result, got.Reason)
			}
			_, err := receiver.Sign(receiver.Sample(testID, testNow), testID, testNow)
			if !errors.Is(err, ErrPublicKey) {
				t.Errorf("error %v, want ErrPublicKey", err)
			}
		})
	}
}

// signedTexts lists the headers that are covered by a scheme's proof.
func signedTexts(v *Verifier) []string {
	var names []string
	for _, p := range v.proofs {
		if s, isSigned := p.(*signed); isSigned {
			names = append(names, s.header, s.idHeader, s.stamp.header)
		} else {
			names = append(names, p.headers()...)
		}
	}
	return canonical(names)
}

// TestNoChangedByteVerifies changes each byte of each thing that is signed. A
// change that means the same (the other case of a hex digit) may pass.
func TestNoChangedByteVerifies(t *testing.T) {
	configs := variants()
	for scheme := range wantKeys() {
		if scheme != "none" {
			configs[scheme] = testConfig(scheme)
		}
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			v := newVerifier(t, config)
			original := signSample(t, v)
			for _, name := range signedTexts(v) {
				value := original.Header.Get(name)
				for i := range len(value) {
					changed := original
					changed.Header = original.Header.Clone()
					changed.Header.Set(name, flip(value, i))
					refusedUnlessEqual(t, v, changed, strings.EqualFold(value, changed.Header.Get(name)), name)
				}
			}
			if len(signedBody(v)) == 0 {
				return
			}
			for i := range original.Body {
				changed := original
				changed.Body = []byte(flip(string(original.Body), i))
				refusedUnlessEqual(t, v, changed, sameForm(original.Body, changed.Body), "body")
			}
		})
	}
}

func signedBody(v *Verifier) template {
	if s, isSigned := v.proofs[0].(*signed); isSigned {
		return s.content
	}
	return nil
}

func flip(text string, i int) string {
	raw := []byte(text)
	raw[i] ^= 1 << (i % 7)
	return string(raw)
}

func sameForm(a, b []byte) bool {
	x, errX := url.ParseQuery(string(a))
	y, errY := url.ParseQuery(string(b))
	return errX == nil && errY == nil && cmp.Equal(x, y)
}

func refusedUnlessEqual(t *testing.T, v *Verifier, r Request, equal bool, what string) {
	t.Helper()
	got := v.Verify(r, testNow)
	if got.Result == webhook.ResultAccepted && !equal {
		t.Fatalf("a changed %s was accepted: %q %q", what, r.Header, r.Body)
	}
	if got.Result != webhook.ResultAccepted && got.Reason == "" {
		t.Fatalf("a changed %s was refused without a reason", what)
	}
}

func TestTheAddressIsSignedWhereTheSchemeSaysSo(t *testing.T) {
	for _, scheme := range []string{"twilio", "square", "hubspot", "hmac"} {
		v := newVerifier(t, testConfig(scheme))
		r := signSample(t, v)
		r.Target += "?x=1"
		if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
			t.Errorf("%s at another address: %s", scheme, got.Result)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, scheme := range Schemes() {
		v := newVerifier(b, testConfig(scheme))
		r := v.Sample(testID, testNow)
		r.Body = benchmarkBody(scheme, r.Body)
		r, err := v.Sign(r, testID, testNow)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(scheme, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted {
					b.Fatal(got.Reason)
				}
			}
		})
	}
}

// benchmarkBody pads a body to 1 KiB with another member or field.
func benchmarkBody(scheme string, body []byte) []byte {
	pad := strings.Repeat("high water ", 100)[:max(0, 1010-len(body))]
	if scheme == "twilio" {
		return append(body, "&P="+strings.ReplaceAll(pad, " ", "+")...)
	}
	text := strings.TrimSuffix(strings.TrimPrefix(string(body), "["), "]")
	text = text[:len(text)-1] + `,"pad":"` + pad + `"}`
	if scheme == "hubspot" {
		text = "[" + text + "]"
	}
	return []byte(text)
}

// BenchmarkBareHMAC is what the others are compared with.
func BenchmarkBareHMAC(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1024)
	key := secret{kind: macSecret, key: []byte("secret")}
	in := &input{signed: body}
	b.ReportAllocs()
	for b.Loop() {
		if sum, _ := (template{partBody}).digest(in, key, sha256MAC); len(sum) != 32 {
			b.Fatal("no digest")
		}
	}
}
