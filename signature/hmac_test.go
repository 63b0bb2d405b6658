package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/webhook"
)

// macOf is the HMAC-SHA256 of a text in hex, made apart from the package.
func macOf(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// hmacConfig is a source of the scheme hmac with the header X-Sig.
func hmacConfig(h HMAC) Config {
	h.Header = "X-Sig"
	return Config{Scheme: "hmac", Source: "hmac", Secrets: []string{"key"}, HMAC: h}
}

// timeForms are how senders write the time.
var timeForms = map[string]func(time.Time) string{
	"seconds":      func(at time.Time) string { return fmt.Sprint(at.Unix()) },
	"milliseconds": func(at time.Time) string { return fmt.Sprint(at.UnixMilli()) },
	"rfc3339":      func(at time.Time) string { return at.UTC().Format(time.RFC3339) },
	"offset":       func(at time.Time) string { return at.In(time.FixedZone("", -7*3600)).Format(time.RFC3339) },
}

// signedAt is a request that was signed at a time.
func signedAt(stamp string) Request {
	const body = `{"a":1}`
	return Request{Method: "POST", Body: []byte(body), Header: http.Header{"X-Time": {stamp}, "X-Sig": {macOf("key", stamp+body)}}}
}

func TestTheFormOfATimestampIsRecognised(t *testing.T) {
	for form, forms := range map[string]map[string]webhook.Result{
		"seconds":      {"": "accepted", "auto": "accepted", "seconds": "accepted", "milliseconds": "stale", "rfc3339": "bad_signature"},
		"milliseconds": {"": "accepted", "auto": "accepted", "seconds": "stale", "milliseconds": "accepted", "rfc3339": "bad_signature"},
		"rfc3339":      {"": "accepted", "auto": "accepted", "seconds": "bad_signature", "rfc3339": "accepted"},
		"offset":       {"": "accepted", "rfc3339": "accepted", "milliseconds": "bad_signature"},
	} {
		for setting, want := range forms {
			v := newVerifier(t, hmacConfig(HMAC{TimestampHeader: "X-Time", TimestampForm: setting, Template: "{timestamp}{body}"}))
			if got := v.Verify(signedAt(timeForms[form](testNow)), testNow); got.Result != want {
				t.Errorf("%s as %q: %s (%s), want %s", form, setting, got.Result, got.Reason, want)
			}
			late := v.Verify(signedAt(timeForms[form](testNow.Add(-time.Hour))), testNow)
			if want == webhook.ResultAccepted && late.Result != webhook.ResultStale {
				t.Errorf("%s as %q, an hour late: %s", form, setting, late.Result)
			}
		}
	}
}

func TestARenewedTimeHasTheFormThatCame(t *testing.T) {
	v := newVerifier(t, hmacConfig(HMAC{TimestampHeader: "X-Time", Template: "{timestamp}{body}"}))
	for form, write := range timeForms {
		r := signedAt(write(testNow.Add(-time.Hour)))
		want := write(testNow)
		if form == "offset" {
			want = timeForms["rfc3339"](testNow)
		}
		late, _ := renewed(t, v, r, testNow)
		if got := late.Header.Get("X-Time"); got != want {
			t.Errorf("%s: %s, want %s", form, got, want)
		}
		if got := v.Verify(late, testNow); got.Result != webhook.ResultAccepted {
			t.Errorf("%s: %s (%s)", form, got.Result, got.Reason)
		}
	}
}

func TestListsOfNamedItems(t *testing.T) {
	const body = `{"a":1}`
	stamp := fmt.Sprint(testNow.Unix())
	right := macOf("key", stamp+"."+body)
	wrong := macOf("other", stamp+"."+body)
	bare := macOf("key", body)
	for name, c := range map[string]struct {
		items, template, value string
		want                   webhook.Result
	}{
		"Calendly, Mux":        {"t={timestamp},v1={signature}", "{timestamp}.{body}", "t=" + stamp + ",v1=" + right, webhook.ResultAccepted},
		"the other order":      {"t={timestamp},v1={signature}", "{timestamp}.{body}", "v1=" + right + ",t=" + stamp, webhook.ResultAccepted},
		"WorkOS: with a space": {"t={timestamp}, v1={signature}", "{timestamp}.{body}", "t=" + stamp + ", v1=" + right, webhook.ResultAccepted},
		"ElevenLabs":           {"t={timestamp},v0={signature}", "{timestamp}.{body}", "t=" + stamp + ",v0=" + right, webhook.ResultAccepted},
		"semicolons":           {"ts={timestamp};h1={signature}", "{timestamp}.{body}", "ts=" + stamp + ";h1=" + right, webhook.ResultAccepted},
		"two signatures":       {"t={timestamp},v1={signature}", "{timestamp}.{body}", "t=" + stamp + ",v1=" + wrong + ",v1=" + right, webhook.ResultAccepted},
		"CircleCI":             {"v1={signature}", "{body}", "v1=" + bare + ",v2=00", webhook.ResultAccepted},
		"no known signature":   {"v1={signature}", "{body}", "v2=" + bare, webhook.ResultBadSignature},
		"a wrong signature":    {"t={timestamp},v1={signature}", "{timestamp}.{body}", "t=" + stamp + ",v1=" + wrong, webhook.ResultBadSignature},
		"without the time":     {"t={timestamp},v1={signature}", "{timestamp}.{body}", "v1=" + right, webhook.ResultBadSignature},
		"two times":            {"t={timestamp},v1={signature}", "{timestamp}.{body}", "t=1,t=" + stamp + ",v1=" + right, webhook.ResultMalformed},
		"another item's time":  {"t={timestamp},v1={signature}", "{timestamp}.{body}", "time=" + stamp + ",v1=" + right, webhook.ResultBadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVerifier(t, hmacConfig(HMAC{Items: c.items, Template: c.template}))
			r := Request{Method: "POST", Body: []byte(body), Header: http.Header{"X-Sig": {c.value}}}
			if got := v.Verify(r, testNow); got.Result != c.want {
				t.Errorf("%s (%s), want %s", got.Result, got.Reason, c.want)
			}
			if c.want != webhook.ResultAccepted {
				return
			}
			if got := v.Verify(signSample(t, v), testNow); got.Result != webhook.ResultAccepted {
				t.Errorf("the sample: %s (%s)", got.Result, got.Reason)
			}
			if aged := strings.Contains(c.items, "timestamp"); (v.Renew(r.Header, r.Body, testNow.Add(time.Hour)) != nil) != aged {
				t.Errorf("renewed: %v", !aged)
			}
		})
	}
}

func TestKeysInAnEncoding(t *testing.T) {
	const body = `{"a":1}`
	for encoding, secret := range map[string]string{"": "key\x01", "text": "key\x01", "base64": "a2V5AQ==", "hex": "6b657901"} {
		config := hmacConfig(HMAC{KeyEncoding: encoding})
		config.Secrets = []string{secret}
		r := Request{Method: "POST", Body: []byte(body), Header: http.Header{"X-Sig": {macOf("key\x01", body)}}}
		if got := newVerifier(t, config).Verify(r, testNow); got.Result != webhook.ResultAccepted {
			t.Errorf("%q: %s (%s)", encoding, got.Result, got.Reason)
		}
	}
	for encoding, secret := range map[string]string{"base64": "canary!", "hex": "canary", "rot13": "canary"} {
		config := hmacConfig(HMAC{KeyEncoding: encoding})
		config.Secrets = []string{secret}
		if _, err := New(config); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: error %v", encoding, err)
		}
	}
}
