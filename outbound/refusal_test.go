package outbound_test

import (
	"strings"
	"testing"
	"time"

	"weir/outbound"
	"weir/webhook"
)

// refused reads a refusal of a payload.
func refused(status int, body, sent string) webhook.Answer {
	r := answerOf(status, "", body)
	r.Sent = []byte(sent)
	return outbound.Read(r, noon)
}

func TestWordsOfThePayloadThatAreEchoedDecideNothing(t *testing.T) {
	for _, c := range []struct {
		name       string
		status     int
		body, sent string
		want       webhook.Outcome
	}{
		{"a limit", 400, `{"error":"cannot store: API rate limit exceeded for project"}`, `{"alert":"cannot store: API rate limit exceeded for project"}`, webhook.OutcomeRejected},
		{"the same words of its own", 400, `{"error":"API rate limit exceeded for project"}`, `{"alert":"disk full"}`, webhook.OutcomeRateLimited},
		{"an allowance", 422, `unknown subject "Your credits have been exhausted"`, `{"subject":"Your credits have been exhausted"}`, webhook.OutcomeRejected},
		{"the same allowance of its own", 422, `Your credits have been exhausted`, `{"subject":"hello"}`, webhook.OutcomeQuotaExhausted},
		{"an address", 400, `{"error":"log line refused","line":"Client sent an HTTP request to an HTTPS server."}`, `{"line":"Client sent an HTTP request to an HTTPS server."}`, webhook.OutcomeRejected},
		{"a recipient", 403, `no access for "bot was blocked by the user"`, `{"text":"bot was blocked by the user"}`, webhook.OutcomeAuth},
		{"an age", 401, `denied: "Message timestamp too old"`, `{"text":"Message timestamp too old"}`, webhook.OutcomeAuth},
		{"a size", 422, `bad text "payload too large"`, `{"text":"payload too large"}`, webhook.OutcomeRejected},
		{"in a member for it", 400, `{"message":"unknown","received":{"text":"quota exceeded for today"}}`, "", webhook.OutcomeRejected},
		{"behind a field's name", 422, `{"errors":{"title":["credits exhausted"]}}`, "", webhook.OutcomeRejected},
		{"by a validator", 400, `daily request limit reached must be one of a, b`, "", webhook.OutcomeRejected},
		{"somebody else's money", 400, `customer has insufficient credits`, "", webhook.OutcomeRejected},
		{"somebody else's balance", 400, `wallet balance exhausted`, "", webhook.OutcomeRejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := refused(c.status, c.body, c.sent); got.Outcome != c.want {
				t.Errorf("%s by %s, want %s", got.Outcome, got.Rule, c.want)
			}
		})
	}
}

func TestOnlyWhatTheStatusSaysIsPresumed(t *testing.T) {
	for _, status := range []int{304, 400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 415, 417, 418, 419, 422, 430, 501, 507} {
		if got := refused(status, "", ""); !got.Presumed {
			t.Errorf("a bare %d is %s, and sure", status, got.Outcome)
		}
	}
	for _, status := range []int{200, 408, 413, 414, 429, 431, 500, 502, 503, 504, 529} {
		if got := refused(status, "", ""); got.Presumed {
			t.Errorf("a bare %d is %s, and presumed", status, got.Outcome)
		}
	}
	for _, c := range []struct {
		name   string
		status int
		header string
		body   string
		sure   bool
	}{
		{"a key", 401, "", `{"error":"Invalid API key"}`, true},
		{"a challenge with an error", 401, `WWW-Authenticate: Bearer error="invalid_token"`, "", true},
		{"a challenge alone", 401, `WWW-Authenticate: Bearer`, "", false},
		{"the status in words", 401, "", `{"error":"Unauthorized"}`, false},
		{"a suspended account", 403, "", "Your account has been suspended", true},
		{"a route", 404, "", `{"message":"no Route matched with those values"}`, true},
		{"the status in words, 404", 404, "", "404 page not found", false},
		{"a field", 400, "", `{"field":"amount","error":"is wrong"}`, true},
		{"a field that is empty", 400, "", `{"field":null,"error":"bad"}`, false},
		{"a redirect", 308, "Location: https://example.com/", "", true},
		{"gone for good", 410, "", "This hook is no longer in use", true},
		{"money in words", 402, "", "insufficient credits", true},
		{"money by status", 402, "", "Payment Required", false},
		{"its own word", 400, "X-Should-Retry: true", "", true},
		{"an empty bucket", 403, "X-RateLimit-Remaining: 0", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outbound.Read(answerOf(c.status, c.header, c.body), noon); got.Presumed == c.sure {
				t.Errorf("%s by %s: presumed %t", got.Outcome, got.Rule, got.Presumed)
			}
		})
	}
}

func TestRefusalsThatNameThePayload(t *testing.T) {
	const sent = `{"id":"ord_48213","kind":"gift_card","at":"2026-11-30T11:59:00Z"}`
	for _, c := range []struct {
		name, body string
		status     int
		want       bool
	}{
		{"a value with digits", "order ord_48213 is unknown", 400, true},
		{"a value in quotation marks", "no kind 'gift_card' here", 400, true},
		{"a field", `{"errors":[{"pointer":"/kind"}]}`, 422, true},
		{"words of a validator", "kind is required", 400, true},
		{"nothing", "Bad Request", 400, false},
		{"a date of its own", `{"timestamp":"2026-11-30T11:59:00Z","error":"Bad Request"}`, 400, false},
		{"an id of its own", "request 7f3a99 refused", 400, false},
		{"another outcome", "order ord_48213 is unknown", 500, false},
		{"a size", "payload too large", 413, true},
		{"a recipient", "bot was kicked", 403, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := refused(c.status, c.body, sent); got.NamesPayload != c.want {
				t.Errorf("%s by %s: names the payload %t", got.Outcome, got.Rule, got.NamesPayload)
			}
		})
	}
}

func TestFingerprintsOfTheSameRefusalAreTheSame(t *testing.T) {
	const one, two = `{"id":"a1","name":"Jane Doe","kind":"gift","note":"bad request"}`, `{"id":"b2","name":"John Roe","kind":"fine"}`
	for _, c := range []struct {
		name       string
		first, two string
		same       bool
	}{
		{"a plain page", "The plain HTTP request was sent to HTTPS port", "The plain HTTP request was sent to HTTPS port", true},
		{"numbers and ids", "refused 4711 at 12:01, id 0a0b-ffee", "refused 4712 at 12:02, id 9a8b-aaee", true},
		{"dates", "refused on Mon, 30 Nov 2026", "refused on Tue, 01 Dec 2026", true},
		{"an id without a digit", "refused deadbeef", "refused cafebabe", true},
		{"addresses", "refused for a@example.com", "refused for b@example.org", true},
		{"values of the payload", `unknown kind "gift"`, `unknown kind "fine"`, true},
		{"names of the payload", "customer Jane Doe unknown", "customer John Roe unknown", true},
		{"case and white space", "Bad  value", "bad value", true},
		{"other words", "unknown kind", "unknown name", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := refused(400, c.first, one).Fingerprint, refused(400, c.two, two).Fingerprint
			if first == "" || (first == second) != c.same {
				t.Errorf("%q and %q, want the same: %t", first, second, c.same)
			}
		})
	}
	if refused(400, "x", "").Fingerprint == refused(422, "x", "").Fingerprint {
		t.Error("two statuses have one fingerprint")
	}
	for _, status := range []int{200, 429, 500, 503} {
		if got := refused(status, "x", "").Fingerprint; got != "" {
			t.Errorf("a %d has the fingerprint %q", status, got)
		}
	}
	// Stored with the gates, so it must not change from build to build.
	if got := refused(400, "Bad Request", "").Fingerprint; got != fixedFingerprint {
		t.Errorf("fingerprint %q, want %q", got, fixedFingerprint)
	}
}

const fixedFingerprint = "e12b3cad31ebb710"

func TestFormsOfWaits(t *testing.T) {
	in := func(name, body string, wait time.Duration) reading {
		return reading{name, 503, "", body, webhook.OutcomeTransient, wait, ""}
	}
	check(t, []reading{
		in("a time span", "Try again in 00:00:27.", 27*time.Second),
		in("a time span of days", "available in 1.02:03:04.5 from now", 26*time.Hour+3*time.Minute+4500*time.Millisecond),
		in("a time span that is cut", "Try again in 1.02:03", none),
		in("a month by name", `{"nextAccessTime":"2026-Nov-30 12:01:00+0000 UTC"}`, time.Minute),
		in("an offset and a name", "retry after 2026-11-30 20:01:00 +0800 CST.", time.Minute),
		in("a name without an offset", "retry after 2026-11-30 20:01:00 CST.", none),
		in("an epoch", "try again at 1796040060 please", time.Minute),
		in("deep in JSON", `{"a":[{"b":{"retry_in_seconds":9}}]}`, 9*time.Second),
		in("minutes", `{"estimated_time_to_regain_access":19}`, 19*time.Minute),
		in("an instant", `{"retryAt":"2026-11-30T12:00:10Z"}`, 10*time.Second),
		in("an element", `<a><b:retryAfter>7</b:retryAfter></a>`, 7*time.Second),
		in("an element of another name", `<a><retries>7</retries></a>`, none),
		in("a pair", "limit=5;retry_after=8;x", 8*time.Second),
	})
}

func TestBoundsOfOneWait(t *testing.T) {
	for _, c := range []struct {
		name, value string
		wait        time.Duration
		ok          bool
	}{
		{"the longest of joined lines", "60, 3", time.Minute, true},
		{"in either order", "3, 60", time.Minute, true},
		{"an instant of last year", "Sun, 30 Nov 2025 12:00:00 GMT", 0, true},
		{"256 bytes", "5" + strings.Repeat(" ", 255), 5 * time.Second, true},
		{"257 bytes", "5" + strings.Repeat(" ", 256), 0, false},
	} {
		if wait, ok := outbound.Wait("Retry-After", c.value, noon); wait != c.wait || ok != c.ok {
			t.Errorf("%s: %v, %t", c.name, wait, ok)
		}
	}
}

func TestASecretThatOnlyPiecesTogetherMakeIsRedacted(t *testing.T) {
	secrets := outbound.NewSecrets("s3cret", "a[redacted]b")
	if got := secrets.Redact("as3cretb", 100); got != "[redacted]" {
		t.Errorf("kept %q", got)
	}
}

func TestFieldsOfRateLimitWindows(t *testing.T) {
	quota, limited := webhook.OutcomeQuotaExhausted, webhook.OutcomeRateLimited
	check(t, []reading{
		{"the empty one's reset counts", 429, "X-A-Limit-Limit: 9\nX-A-Limit-Remaining: 8\nX-A-Limit-Reset: 5\nX-B-Limit-24hour-Remaining: 0\nX-B-Limit-24hour-Reset: 600", "", quota, 10 * time.Minute, outbound.RuleLongHeader},
		{"a reset beside what is left", 429, "X-Rate-Limit-Requests-Left: 0\nX-Rate-Limit-Time-Reset-Ms: 1500", "", limited, 1500 * time.Millisecond, ""},
		{"a window behind the count", 429, "RateLimit-Remaining: 0;w=21600", "", quota, none, outbound.RuleLongHeader},
		{"a short window behind the count", 429, "RateLimit-Remaining: 0;w=60", "", limited, none, ""},
		{"the day's figure", 429, "X-RateLimit-Limit: 200,2000\nX-RateLimit-Usage: 5,2000", "", quota, none, outbound.RuleLongHeader},
		{"figures that do not belong together", 429, "X-RateLimit-Limit: 200\nX-RateLimit-Usage: 5,2000", "", limited, none, ""},
		{"a name of the window", 429, "X-RateLimit-Type: Daily-limit", "", quota, none, outbound.RuleLongHeader},
		{"other fields", 429, "X-Days-Open: 0\nContent-Limit: day", "", limited, none, ""},
	})
}
