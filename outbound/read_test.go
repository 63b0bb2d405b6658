package outbound_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/outbound"
	"weir/webhook"
)

// answerOf makes a response from a status, header lines and a body.
func answerOf(status int, header, body string) outbound.Response {
	return outbound.Response{Status: status, Header: headerOf(header), Body: []byte(body)}
}

// reading is a case for the rules that the published answers do not reach.
type reading struct {
	name   string
	status int
	header string
	body   string
	class  webhook.Outcome
	// wait is the hint; none is -1.
	wait time.Duration
	rule string
}

const none = time.Duration(-1)

func check(t *testing.T, cases []reading) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := outbound.Read(answerOf(c.status, c.header, c.body), noon)
			if got.Outcome != c.class || c.rule != "" && got.Rule != c.rule {
				t.Errorf("%s by %s, want %s by %s", got.Outcome, got.Rule, c.class, c.rule)
			}
			wait := got.Hint.Wait
			if !got.Hint.Given() {
				wait = none
			}
			if wait != c.wait {
				t.Errorf("hint %v from %q, want %v", wait, got.Hint.From, c.wait)
			}
			checkAnswer(t, got)
		})
	}
}

func TestB33OutcomeOfEveryStatus(t *testing.T) {
	want := map[int]webhook.Outcome{
		402: webhook.OutcomeQuotaExhausted, 507: webhook.OutcomeQuotaExhausted, 509: webhook.OutcomeQuotaExhausted,
		401: webhook.OutcomeAuth, 403: webhook.OutcomeAuth, 407: webhook.OutcomeAuth, 511: webhook.OutcomeAuth,
		404: webhook.OutcomeMisdirected, 405: webhook.OutcomeMisdirected, 421: webhook.OutcomeMisdirected,
		426: webhook.OutcomeMisdirected, 501: webhook.OutcomeMisdirected, 505: webhook.OutcomeMisdirected,
		508: webhook.OutcomeMisdirected,
		430: webhook.OutcomeAuth, 440: webhook.OutcomeAuth, 495: webhook.OutcomeAuth, 496: webhook.OutcomeAuth, 498: webhook.OutcomeAuth,
		419: webhook.OutcomeMisdirected, 497: webhook.OutcomeMisdirected,
		408: webhook.OutcomeTransient, 409: webhook.OutcomeTransient, 423: webhook.OutcomeTransient,
		424: webhook.OutcomeTransient, 425: webhook.OutcomeTransient,
		410: webhook.OutcomeGone,
		413: webhook.OutcomeTooLarge, 414: webhook.OutcomeTooLarge, 431: webhook.OutcomeTooLarge, 494: webhook.OutcomeTooLarge,
		420: webhook.OutcomeRateLimited, 429: webhook.OutcomeRateLimited,
	}
	for status := range 1100 {
		outcome, listed := want[status]
		switch {
		case listed:
		case status >= 200 && status < 300:
			outcome = webhook.OutcomeDelivered
		case status >= 100 && status < 400:
			outcome = webhook.OutcomeMisdirected
		case status >= 400 && status < 500:
			outcome = webhook.OutcomeRejected
		default:
			outcome = webhook.OutcomeTransient
		}
		if got := outbound.Read(answerOf(status, "", ""), noon); got.Outcome != outcome {
			t.Errorf("a bare %d is %s, want %s", status, got.Outcome, outcome)
		}
	}
}

func TestB30RetryAfter(t *testing.T) {
	for _, status := range []int{429, 503} {
		class := webhook.OutcomeRateLimited
		if status == 503 {
			class = webhook.OutcomeTransient
		}
		long := class
		if status == 429 {
			long = webhook.OutcomeQuotaExhausted
		}
		check(t, []reading{
			{"a seconds", status, "Retry-After: 30", "", class, 30 * time.Second, ""},
			{"b IMF-fixdate", status, "Retry-After: Mon, 30 Nov 2026 12:00:30 GMT", "", class, 30 * time.Second, ""},
			{"b RFC 850", status, "Retry-After: Monday, 30-Nov-26 12:00:30 GMT", "", class, 30 * time.Second, ""},
			{"b asctime", status, "Retry-After: Mon Nov 30 12:00:30 2026", "", class, 30 * time.Second, ""},
			{"c past", status, "Retry-After: Mon, 30 Nov 2026 11:00:00 GMT", "", class, 0, ""},
			{"d zero", status, "Retry-After: 0", "", class, 0, ""},
			{"e a day", status, "Retry-After: 86400", "", long, 24 * time.Hour, ""},
			{"joined dates", status, "Retry-After: 5, Mon, 30 Nov 2026 12:02:00 GMT", "", class, 2 * time.Minute, ""},
			{"lines", status, "Retry-After: 90\nRetry-After: Mon, 30 Nov 2026 12:01:00 GMT", "", class, 90 * time.Second, ""},
			{"words", status, "Retry-After: in a while", "", class, none, ""},
		})
	}
}

func TestB31LongQuotas(t *testing.T) {
	quota := webhook.OutcomeQuotaExhausted
	check(t, []reading{
		{"seed", 429, "", "Limit 100000, Used 99299, Requested 1139 on tokens per day", quota, none, outbound.RuleLongWords},
		{"reset in 9 hours", 429, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 32400", "", quota, 9 * time.Hour, outbound.RuleLongWait},
		{"first window decides", 429, "", "5 requests per day used up; 60 per minute remain", quota, none, outbound.RuleLongWords},
		{"advice follows", 429, "", "60 requests per minute. Add credits to unlock 1000 requests per day", webhook.OutcomeRateLimited, none, outbound.RuleLimited},
		{"per 24 hours", 429, "", "100 requests per 24 hours", quota, none, outbound.RuleLongWords},
		{"per 10 seconds", 429, "", "100 requests per 10 seconds; 1000 daily", webhook.OutcomeRateLimited, none, outbound.RuleLimited},
		{"slash", 429, "", "quota of 100 requests/day", quota, none, outbound.RuleLongWords},
		{"telegram", 429, "", `{"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`, webhook.OutcomeRateLimited, 35 * time.Second, ""},
		{"per-day", 429, "", "Rate limit exceeded: free-models-per-day. Add credits", quota, none, outbound.RuleLongWords},
		{"per-min", 429, "", "free-models-per-min. Add credits to unlock 1000 requests per day", webhook.OutcomeRateLimited, none, ""},
		{"monthly", 429, "", "Monthly quota reached", quota, none, outbound.RuleLongWords},
		{"RPD", 429, "", "limit on requests (RPD)", quota, none, outbound.RuleLongWords},
		{"concurrency first", 429, "", "concurrency limit; see daily limits", webhook.OutcomeRateLimited, none, outbound.RuleLimited},
		{"day header", 429, "x-ratelimit-remaining-requests-day: 0\nx-ratelimit-reset-requests-day: 300", "", quota, 5 * time.Minute, outbound.RuleLongHeader},
		{"day header with room", 429, "x-ratelimit-remaining-requests-day: 7\nx-ratelimit-remaining-tokens-minute: 0\nx-ratelimit-reset-tokens-minute: 3", "", webhook.OutcomeRateLimited, 3 * time.Second, ""},
		{"problem day", 429, "X-Rate-Limit-Problem: day", "", quota, none, outbound.RuleLongHeader},
		{"draft 7 policy", 429, "RateLimit: limit=5000, remaining=0, reset=12\nRateLimit-Policy: 100;w=60, 5000;w=86400", "", quota, 12 * time.Second, outbound.RuleLongHeader},
		{"spend code on 403", 403, "", `{"code":"organization_spend_limit_exceeded"}`, quota, none, outbound.RuleBillingWords},
		{"usage code on 500", 500, "", `{"code":"project_usage_limit_exceeded"}`, quota, none, outbound.RuleBillingWords},
		{"billing with room", 429, "x-ratelimit-remaining-requests: 59\nx-ratelimit-reset-requests: 1s", `{"code":"insufficient_quota"}`, quota, none, outbound.RuleBillingWords},
		{"credits on 400", 400, "", `{"error":"Insufficient credits"}`, quota, none, outbound.RuleBillingWords},
		{"credits on 500", 500, "", "You are out of credits", quota, none, outbound.RuleBillingWords},
		{"credits on 403", 403, "", "not enough credits left for this call", quota, none, outbound.RuleBillingWords},
		{"a payment's own refusal", 400, "", `{"decline_code":"insufficient_funds"}`, webhook.OutcomeRejected, none, ""},
		{"plan on 400", 400, "", "Your plan's monthly quota has been used up", quota, none, outbound.RuleLongWords},
		{"daily usage on 403", 403, "", "Daily usage limit exceeded", quota, none, outbound.RuleLongWords},
		{"monthly limit on 400", 400, "", "Monthly limit reached", quota, none, outbound.RuleLongWords},
		{"a field of that name", 400, "", "daily limit must be a number", webhook.OutcomeRejected, none, ""},
		{"policy daily", 403, "", `{"policyName" : "DAILY"}`, quota, none, outbound.RuleBillingWords},
		{"quota id in second place", 429, "", `[{"quotaId":"APerMinuteB"},{"quotaId":"BPerDayC"}] retryDelay`, quota, none, outbound.RuleQuotaID},
		{"quota id outranks words", 429, "", `{"quotaId":"APerMinuteB","help":"per day"}`, webhook.OutcomeRateLimited, none, ""},
		{"an hour", 429, "Retry-After: 3600", "", quota, time.Hour, outbound.RuleLongWait},
		{"less than an hour", 429, "Retry-After: 3599", "", webhook.OutcomeRateLimited, 3599 * time.Second, ""},
		{"an hour on 503", 503, "Retry-After: 3600", "", webhook.OutcomeTransient, time.Hour, ""},
		{"other exceptions", 400, "X-Amzn-ErrorType: KmsLimitExceededException", "", webhook.OutcomeRejected, none, ""},
		{"the word quota alone", 429, "", "quota exceeded", webhook.OutcomeRateLimited, none, ""},
	})
}

func TestB32TooLarge(t *testing.T) {
	large := webhook.OutcomeTooLarge
	check(t, []reading{
		{"as large as the limit", 429, "", "per minute: Limit 5000, Requested 5000", webhook.OutcomeRateLimited, none, ""},
		{"one more", 429, "", "Limit 5000, Requested 5001", large, none, outbound.RuleFigures},
		{"thousands", 503, "", "Limit 5,000, Requested 10,300", large, none, outbound.RuleFigures},
		{"in members", 400, "", `{"limit": 8192, "requested": 10300}`, large, none, outbound.RuleFigures},
		{"against billing", 402, "", "insufficient_quota Limit 1, Requested 2", large, none, outbound.RuleFigures},
		{"figures on a 2xx", 200, "", "Limit 1, Requested 2", webhook.OutcomeDelivered, none, ""},
		{"figures on a 410", 410, "", "Limit 1, Requested 2", webhook.OutcomeGone, none, ""},
		{"other units", 429, "", "Limit 10 MB, Requested 9000000 bytes", webhook.OutcomeRateLimited, none, ""},
		{"no figures", 429, "", "Limit 5s, Requested by 7", webhook.OutcomeRateLimited, none, ""},
		{"second limit", 429, "", "Limit 10, then Limit 100, Requested 50", webhook.OutcomeRateLimited, none, ""},
		{"words on 422", 422, "", "Payload too large", large, none, outbound.RuleSizeWords},
		{"words on 403", 403, "", "payload too large", webhook.OutcomeAuth, none, ""},
		{"took too long", 400, "", "the request took too long", webhook.OutcomeRejected, none, ""},
		{"413 temporary with figures", 413, "Retry-After: 4", "Limit 1, Requested 2", large, none, outbound.RuleFigures},
	})
}

func TestLimitsUnderOtherStatuses(t *testing.T) {
	limited := webhook.OutcomeRateLimited
	check(t, []reading{
		{"400 by words", 400, "", "Rate limit reached", limited, none, ""},
		{"400 too long", 400, "", "character limit exceeded", webhook.OutcomeRejected, none, ""},
		{"403 by an empty bucket", 403, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 7", "", limited, 7 * time.Second, ""},
		{"403 by Retry-After", 403, "Retry-After: 9", "", limited, 9 * time.Second, ""},
		{"403 by error type", 403, "X-Amzn-ErrorType: ThrottlingException", "", limited, none, ""},
		{"AWS throughput", 400, "", `{"__type":"com.amazonaws#ProvisionedThroughputExceededException"}`, limited, none, ""},
		{"AWS requests", 403, "X-Amzn-ErrorType: RequestLimitExceeded", "", limited, none, ""},
		{"401 with a limit's words", 401, "", "rate limit", webhook.OutcomeAuth, none, ""},
		{"503 with a limit's words", 503, "", "rate limit", webhook.OutcomeTransient, none, ""},
		{"salesforce concurrent", 403, "", "ConcurrentRequests (Concurrent API Requests) Limit exceeded. REQUEST_LIMIT_EXCEEDED", limited, none, ""},
	})
}

func TestServersWordOnRetries(t *testing.T) {
	check(t, []reading{
		{"false ends a limit", 429, "X-Should-Retry: false\nRetry-After: 5", "", webhook.OutcomeRejected, none, outbound.RuleShouldNotRetry},
		{"true revives a refusal", 400, "x-should-retry: TRUE\nRetry-After: 5", "", webhook.OutcomeTransient, 5 * time.Second, outbound.RuleShouldRetry},
		{"false and a quota", 402, "Stripe-Should-Retry: false", "", webhook.OutcomeQuotaExhausted, none, ""},
		{"true and a size", 413, "Stripe-Should-Retry: true", "", webhook.OutcomeTooLarge, none, ""},
		{"true and credentials", 401, "Stripe-Should-Retry: true", "", webhook.OutcomeAuth, none, ""},
		{"true and 410", 410, "Stripe-Should-Retry: true", "", webhook.OutcomeGone, none, ""},
		{"true and 404", 404, "Stripe-Should-Retry: true", "", webhook.OutcomeMisdirected, none, ""},
		{"false and 2xx", 200, "Stripe-Should-Retry: false", "", webhook.OutcomeDelivered, none, ""},
		{"neither", 500, "Stripe-Should-Retry: perhaps", "", webhook.OutcomeTransient, none, ""},
	})
}

func TestWaitsInBodies(t *testing.T) {
	in := func(name, body string, wait time.Duration) reading {
		return reading{name, 503, "", body, webhook.OutcomeTransient, wait, ""}
	}
	check(t, []reading{
		in("compound", "Please try again in 1h2m3.5s.", time.Hour+2*time.Minute+3500*time.Millisecond),
		in("prose", "Try again in 1 hour, 30 minutes and 5 seconds, please", 90*time.Minute+5*time.Second),
		in("minutes", "retry after 2 minutes", 2*time.Minute),
		in("thousands", "retry after 1,800 seconds", 30*time.Minute),
		in("a bare number", "Retry after 45.", 45*time.Second),
		in("a bare number at the end", "Retry after 45", 45*time.Second),
		in("a number of others", "retry after 2 attempts", none),
		in("wait and others", "try again in 5 minutes, 3 attempts left", 5*time.Minute),
		in("no number", "Please wait a few minutes before you try again", none),
		in("django", "Request was throttled. Expected available in 57 seconds.", 57*time.Second),
		in("an instant", "try after 2026-11-30T12:01:00Z.", time.Minute),
		in("an instant in JSON", `{"m":"Try after 2026-11-30T13:01:00+01:00"}`, time.Minute),
		in("an HTTP-date", "retry after Mon, 30 Nov 2026 12:01:30 GMT!", 90*time.Second),
		in("a moment in words", "You will regain access on 2026-11-30 at 12:10 UTC.", 10*time.Minute),
		in("no zone", "You will regain access on 2026-11-30 at 12:10.", none),
		in("escaped", `{"m":"limit: 20\nretry in 36.4s\u002e"}`, 36400*time.Millisecond),
		in("JSON in JSON", `{"m":"{\"retry_after\": 7}"}`, 7*time.Second),
		in("a text in JSON", `{"retry_after":"12.5"}`, 12500*time.Millisecond),
		in("milliseconds in JSON", `{"retry_after_ms":1500}`, 1500*time.Millisecond),
		in("parameters", `{"ok":false,"parameters":{"retry_after": 35}}`, 35*time.Second),
		in("estimated", `{"error":"loading","estimated_time": 20.25}`, 20250*time.Millisecond),
		in("a delay", `{"retryDelay":"3.000000001s"}`, 3001*time.Millisecond),
		in("the largest", "try again in 5s. retry after 9 seconds, try again in 7s.", 9*time.Second),
		in("cut in a number", `{"m":"Please try again in 7m1`, none),
		in("cut at a unit", `{"m":"Please try again in 7m`, none),
		in("cut in a member", `{"retry_after": 1`, none),
		in("a negative", "retry after -5 seconds", none),
		in("too long", "try again in 99999999999999999999 hours", webhook.MaxHint),
		in("a word that ends alike", "country in 5s", none),
		in("tags", "<p>Try again in <b>5</b> seconds</p>", 5*time.Second),
	})
}

func TestTiersOfHints(t *testing.T) {
	limited := webhook.OutcomeRateLimited
	check(t, []reading{
		{"explicit beats reset", 429, "Retry-After: 3\nX-RateLimit-Reset: 60\nX-RateLimit-Remaining: 0", "", limited, 3 * time.Second, ""},
		{"a past explicit one too", 429, "Retry-After: 0\nX-RateLimit-Reset: 60", "", limited, 0, ""},
		{"reset-after is explicit", 429, "X-RateLimit-Reset-After: 4.5\nX-RateLimit-Reset: 60\nX-RateLimit-Remaining: 0", "", limited, 4500 * time.Millisecond, ""},
		{"milliseconds are precise", 429, "retry-after-ms: 1250\nretry-after: 2", "", limited, 1250 * time.Millisecond, ""},
		{"and the body's whole seconds", 429, "retry-after-ms: 1750\nretry-after: 2", "Please retry after 2 seconds.", limited, 1750 * time.Millisecond, ""},
		{"but not its fractions", 429, "retry-after-ms: 1750", "Please retry after 2.5 seconds.", limited, 2500 * time.Millisecond, ""},
		{"a second apart are two", 429, "retry-after-ms: 1000\nretry-after: 2", "", limited, 2 * time.Second, ""},
		{"the longer milliseconds", 429, "retry-after-ms: 9000\nretry-after: 2", "", limited, 9 * time.Second, ""},
		{"body beyond header", 429, "Retry-After: 2", "try again in 7s.", limited, 7 * time.Second, ""},
		{"all buckets when none is empty", 429, "X-RateLimit-Reset: 6\nX-Other-RateLimit-Reset: 8", "", limited, 8 * time.Second, ""},
		{"an empty one without a reset", 429, "X-RateLimit-Remaining-Day: 0\nX-RateLimit-Remaining: 5\nX-RateLimit-Reset: 9", "", webhook.OutcomeQuotaExhausted, none, ""},
		{"a failure with room", 502, "X-RateLimit-Remaining: 4998\nX-RateLimit-Reset: 3000", "", webhook.OutcomeTransient, none, ""},
		{"a failure without room", 502, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30", "", webhook.OutcomeTransient, 30 * time.Second, ""},
		{"a reset header in the body", 429, "", `{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1796040060000"}}`, limited, time.Minute, ""},
		{"lines of resets", 429, "X-RateLimit-Reset: 5\nX-RateLimit-Reset: 9\nX-RateLimit-Remaining: 3\nX-RateLimit-Remaining: 0", "", limited, 9 * time.Second, ""},
		{"resets in words", 429, "", "Your limit resets in 20 seconds.", limited, 20 * time.Second, ""},
		{"hubspot with room", 429, "X-HubSpot-RateLimit-Interval-Milliseconds: 10000\nX-HubSpot-RateLimit-Remaining: 3", "", limited, 10 * time.Second, ""},
		{"twitter", 429, "x-rate-limit-remaining: 0\nx-rate-limit-reset: 1796040060", "", limited, time.Minute, ""},
		{"decimal t", 429, `RateLimit: "a";r=0;t=1.5`, "", limited, none, ""},
		{"negative r", 429, `RateLimit: "a";r=-1;t=5`, "", limited, none, ""},
		{"text t", 429, `RateLimit: "a";r=0;t="5"`, "", limited, none, ""},
		{"token name", 429, `RateLimit: a;r=0;t=5`, "", limited, 5 * time.Second, ""},
		{"lines of a list", 429, "RateLimit: \"a\";r=0;t=5\nRateLimit: \"b\";r=0;t=8", "", limited, 8 * time.Second, ""},
		{"no timed retry", 401, "Retry-After: 5", "", webhook.OutcomeAuth, none, ""},
		{"misdirected", 404, "Retry-After: 5", "", webhook.OutcomeMisdirected, none, ""},
	})
}

func TestSecondaryLimitWithoutATimeAsksForAMinuteOfOurOwn(t *testing.T) {
	const body = "You have exceeded a secondary rate limit."
	if got := outbound.Read(answerOf(403, "", body), noon); got.OwnWait != time.Minute || got.Hint.Given() {
		t.Errorf("own wait %v, hint %+v", got.OwnWait, got.Hint)
	}
	if got := outbound.Read(answerOf(403, "Retry-After: 5", body), noon); got.OwnWait != 0 {
		t.Errorf("own wait %v beside a hint", got.OwnWait)
	}
}

func TestPacing(t *testing.T) {
	for _, c := range []struct {
		name, header string
		status       int
		want         webhook.Pacing
	}{
		{"an empty bucket", "RateLimit-Remaining: 0\nRateLimit-Reset: 9", 200, webhook.Pacing{NotBefore: 9 * time.Second}},
		{"the later of two", "A-RateLimit-Remaining: 0\nA-RateLimit-Reset: 9\nB-RateLimit-Remaining: 0\nB-RateLimit-Reset: 4", 200, webhook.Pacing{NotBefore: 9 * time.Second}},
		{"a tenth left", "RateLimit-Limit: 100\nRateLimit-Remaining: 10\nRateLimit-Reset: 60", 200, webhook.Pacing{Spacing: 6 * time.Second, For: time.Minute}},
		{"more than a tenth", "RateLimit-Limit: 100\nRateLimit-Remaining: 11\nRateLimit-Reset: 60", 200, webhook.Pacing{}},
		{"the last one", "RateLimit-Remaining: 1\nRateLimit-Reset: 60", 200, webhook.Pacing{Spacing: time.Minute, For: time.Minute}},
		{"no limit known", "RateLimit-Remaining: 2\nRateLimit-Reset: 60", 200, webhook.Pacing{}},
		{"no reset known", "RateLimit-Limit: 100\nRateLimit-Remaining: 0", 200, webhook.Pacing{}},
		{"cached", "Age: 5\nRateLimit-Remaining: 0\nRateLimit-Reset: 9", 200, webhook.Pacing{}},
		{"fresh", "Age: 0\nRateLimit-Remaining: 0\nRateLimit-Reset: 9", 200, webhook.Pacing{NotBefore: 9 * time.Second}},
		{"shopify", "X-Shopify-Shop-Api-Call-Limit: 39/40", 200, webhook.Pacing{Spacing: 500 * time.Millisecond, For: 20 * time.Second}},
		{"shopify full", "X-Shopify-Shop-Api-Call-Limit: 40/40", 200, webhook.Pacing{NotBefore: 500 * time.Millisecond, Spacing: 500 * time.Millisecond, For: 20 * time.Second}},
		{"shopify with room", "X-Shopify-Shop-Api-Call-Limit: 30/40", 200, webhook.Pacing{}},
		{"policy", "RateLimit: \"a\";r=5;t=50\nRateLimit-Policy: \"a\";q=100;w=60", 200, webhook.Pacing{Spacing: 10 * time.Second, For: 50 * time.Second}},
		{"a refusal", "RateLimit-Remaining: 0\nRateLimit-Reset: 9", 400, webhook.Pacing{NotBefore: 9 * time.Second}},
		{"Retry-After has precedence", "Retry-After: 1\nRateLimit-Remaining: 0\nRateLimit-Reset: 9", 503, webhook.Pacing{}},
		{"a limit is held anyway", "RateLimit-Remaining: 0\nRateLimit-Reset: 9", 429, webhook.Pacing{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outbound.Read(answerOf(c.status, c.header, ""), noon).Pacing; got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestFiguresAreEvidence(t *testing.T) {
	const text = `{"error":{"message":"on tokens per day (TPD): Limit 100,000, Used 99299, Requested 1139. Pl`
	got := outbound.Read(answerOf(429, "", text), noon).Evidence
	if got.Limit == nil || *got.Limit != 100000 || got.Used == nil || *got.Used != 99299 ||
		got.Requested == nil || *got.Requested != 1139 || got.Window != "day" || got.Body != text {
		shown, _ := json.Marshal(got)
		t.Errorf("evidence %s", shown)
	}
}

func pack(text string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write([]byte(text))
	w.Close()
	return out.Bytes()
}

func TestBodiesAreDecodedWithinABound(t *testing.T) {
	bomb := pack(strings.Repeat("per day ", 1<<20))
	for name, c := range map[string]struct {
		encoding string
		body     []byte
		class    webhook.Outcome
		note     string
		text     string
	}{
		"gzip":          {"gzip", pack("per day"), webhook.OutcomeQuotaExhausted, "", "per day"},
		"x-gzip":        {"X-GZIP", pack("per day"), webhook.OutcomeQuotaExhausted, "", "per day"},
		"a bomb":        {"gzip", bomb[:min(len(bomb), 16<<10)], webhook.OutcomeQuotaExhausted, "the body goes on", "per day "},
		"broken gzip":   {"gzip", pack("per day, daily " + strings.Repeat("abcdefgh", 100))[:40], webhook.OutcomeQuotaExhausted, "broke off", "per day"},
		"no gzip":       {"gzip", []byte("per day"), webhook.OutcomeRateLimited, "not the gzip", ""},
		"empty gzip":    {"gzip", nil, webhook.OutcomeRateLimited, "", ""},
		"zstd":          {"zstd", []byte("per day"), webhook.OutcomeRateLimited, "zstd", ""},
		"two encodings": {"gzip, br", []byte("per day"), webhook.OutcomeRateLimited, "undecoded", ""},
		"identity":      {"identity", []byte("per day"), webhook.OutcomeQuotaExhausted, "", "per day"},
	} {
		t.Run(name, func(t *testing.T) {
			got := outbound.Read(outbound.Response{Status: 429, Body: c.body,
				Header: http.Header{"Content-Encoding": {c.encoding}}}, noon)
			if got.Outcome != c.class || !strings.Contains(got.Evidence.Note, c.note) || !strings.HasPrefix(got.Evidence.Body, c.text) {
				t.Errorf("%s with note %q and body %.40q", got.Outcome, got.Evidence.Note, got.Evidence.Body)
			}
			if c.text == "" && got.Evidence.Body != "" {
				t.Errorf("body %q is kept", got.Evidence.Body)
			}
			checkAnswer(t, got)
		})
	}
}

func TestLatin1IsConvertedWhereDeclared(t *testing.T) {
	r := answerOf(422, "Content-Type: text/plain; charset=ISO-8859-1", "erron\xe9")
	if got := outbound.Read(r, noon).Evidence.Body; got != "erroné" {
		t.Errorf("kept %q", got)
	}
	r.Header.Del("Content-Type")
	if got := outbound.Read(r, noon).Evidence.Body; got != "erron\uFFFD" {
		t.Errorf("kept %q", got)
	}
}

func BenchmarkRead(b *testing.B) {
	message := `{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29937, Requested 385. Please try again in 644ms. ` +
		strings.Repeat("Visit the rate limits page to learn more. ", 46) + `","type":"tokens","code":"rate_limit_exceeded"}}`
	r := answerOf(429, "Content-Type: application/json\nRetry-After: 1\nDate: Mon, 30 Nov 2026 12:00:00 GMT\nServer: x", message[:2048])
	b.ReportAllocs()
	for b.Loop() {
		outbound.Read(r, noon)
	}
}

func BenchmarkReadHostile(b *testing.B) {
	for name, unit := range map[string]string{
		"brackets": "<", "backslashes": `\`, "quotes": `"`, "phrases": "retry after 1,", "names": `"token":`,
		"members": `"retry_after":`, "names alone": `"retry_after"`, "ids": `"quotaid" `, "digits": "1", "urls": "://a@", "keys": "sk-aaaaaaaaa ", "openings": `token="`,
	} {
		r := answerOf(429, "Content-Type: text/html", strings.Repeat(unit, 16<<10/len(unit)))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				outbound.Read(r, noon)
			}
		})
	}
}
