package outbound_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"weir/outbound"
	"weir/webhook"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func FuzzWait(f *testing.F) {
	for _, c := range load[waitCase](f, "durations.json") {
		f.Add(c.Header, c.Value, c.Date)
	}
	f.Fuzz(func(t *testing.T, field, value, date string) {
		base := outbound.Base(http.Header{"Date": {date}}, noon)
		wait, ok := outbound.Wait(field, value, base)
		if wait < 0 || wait > webhook.MaxHint || wait%time.Millisecond != 0 || !ok && wait != 0 {
			t.Errorf("%q: %q is %v, %t", field, value, wait, ok)
		}
	})
}

// checkAnswer holds an answer to what every answer promises.
func checkAnswer(t *testing.T, answer webhook.Answer) {
	t.Helper()
	if !slices.Contains(webhook.Outcomes(), answer.Outcome) || answer.Rule == "" {
		t.Errorf("outcome %q by %q", answer.Outcome, answer.Rule)
	}
	for _, wait := range []time.Duration{
		answer.Hint.Wait, answer.Pacing.NotBefore, answer.Pacing.Spacing, answer.Pacing.For,
	} {
		if wait < 0 || wait > webhook.MaxHint {
			t.Errorf("a wait of %v in %+v", wait, answer)
		}
	}
	if len(answer.Evidence.Body) > 2<<10 || !utf8.ValidString(answer.Evidence.Body) {
		t.Errorf("%d bytes of body are kept: %q", len(answer.Evidence.Body), answer.Evidence.Body)
	}
	for name, value := range answer.Evidence.Headers {
		if len(value) > 256 || !utf8.ValidString(value) {
			t.Errorf("%s is kept as %q", name, value)
		}
	}
	if len(answer.Evidence.Headers) > 32 || len(answer.Evidence.Note) > 512 {
		t.Errorf("kept %d headers and %d bytes of a note", len(answer.Evidence.Headers), len(answer.Evidence.Note))
	}
}

// kept joins everything of an answer that is stored or shown.
func kept(answer webhook.Answer) string {
	parts := []string{answer.Evidence.Body, answer.Evidence.Note, answer.Evidence.Window, answer.Hint.From, answer.Rule}
	for name, value := range answer.Evidence.Headers {
		parts = append(parts, name, value)
	}
	return strings.Join(parts, "\x00")
}

// headerOf reads header lines; what is no line is left out.
func headerOf(text string) http.Header {
	header := http.Header{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, found := strings.Cut(line, ":"); found {
			header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return header
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"responses.json", "responses-field.json", "responses-kinds.json"} {
		for _, c := range load[answerCase](f, name) {
			r := c.response()
			var lines strings.Builder
			r.Header.Write(&lines)
			f.Add(c.Status, lines.String(), r.Body, c.Error, []byte(`{"name":"Jane Doe","limit":"quota exceeded"}`))
		}
	}
	f.Fuzz(func(t *testing.T, status int, header string, body []byte, fault string, sent []byte) {
		r := outbound.Response{Status: status, Header: headerOf(header), Body: body, Sent: sent}
		if fault != "" {
			r.Err = textError(fault)
		}
		answer := outbound.Read(r, noon)
		checkAnswer(t, answer)
		if status >= 200 && status < 300 && fault == "" && answer.Outcome != webhook.OutcomeDelivered {
			t.Errorf("a %d is %s", status, answer.Outcome)
		}
		if answer.Aged && answer.Presumed || len(answer.Fingerprint) > 16 {
			t.Errorf("%+v", answer)
		}
		again := outbound.Read(r, noon)
		same := again.Hint == answer.Hint && again.Outcome == answer.Outcome && again.Pacing == answer.Pacing
		if !same || again.Fingerprint != answer.Fingerprint || again.Presumed != answer.Presumed {
			t.Errorf("read twice: %+v and %+v", answer, again)
		}
	})
}

type textError string

func (e textError) Error() string { return string(e) }

func FuzzSecretsAreNotKept(f *testing.F) {
	f.Add("s3cr3t-value", `{"a":"`, `"}`, 0)
	f.Add("a/b+c=\"d", "x-ratelimit-limit: ", "", 1)
	f.Add("pässwörd", strings.Repeat("x", 2040), "", 2)
	f.Add("redacted", "[redacted]", "]", 3)
	f.Add("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "token=", "&", 4)
	f.Fuzz(func(t *testing.T, secret, before, after string, spelling int) {
		secret = strings.TrimSpace(secret)
		// No setting can hold a NUL, which here parts what is looked at.
		if len(secret) < 4 || !utf8.ValidString(secret) || strings.Contains(secret, "\x00") {
			return
		}
		echoed := [...]string{
			secret, url.QueryEscape(secret), url.PathEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)),
			base64.URLEncoding.EncodeToString([]byte(secret)),
		}[uint(spelling)%5]
		text := before + echoed + after
		answer := outbound.Read(outbound.Response{
			Status: 429, Body: []byte(text), Secrets: outbound.NewSecrets(secret),
			Header: http.Header{"X-Ratelimit-Limit": {text}, "Location": {"https://x.example/" + text}, "X-Ratelimit-Reset-" + echoed: {"5"}},
		}, noon)
		checkAnswer(t, answer)
		checkSecret(t, answer, secret, echoed)
		answer = outbound.Read(outbound.Response{
			Err: textError("dial " + text), Secrets: outbound.NewSecrets(secret),
		}, noon)
		checkAnswer(t, answer)
		checkSecret(t, answer, secret, echoed)
	})
}

func checkSecret(t *testing.T, answer webhook.Answer, secret, echoed string) {
	t.Helper()
	everything := strings.ReplaceAll(kept(answer), answer.Rule, "")
	for _, form := range []string{secret, strings.TrimRight(echoed, "=")} {
		if strings.Contains("[redacted]", form) || isHeaderName(answer, form) {
			continue // a part of our own words
		}
		if strings.Contains(everything, form) {
			t.Errorf("%q is kept: %q", form, everything)
		}
	}
}

// isHeaderName reports whether a secret is a part of a field's name: that is
// no echo.
func isHeaderName(answer webhook.Answer, secret string) bool {
	for name := range answer.Evidence.Headers {
		if strings.Contains(name, secret) {
			return true
		}
	}
	return strings.Contains("body: ", secret) || strings.Contains(answer.Hint.From, secret) && !strings.HasPrefix(answer.Hint.From, "X-Ratelimit-Reset-")
}
