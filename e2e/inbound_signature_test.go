package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/cli"
)

func TestB19TheBytesOnTheWireAreWhatIsVerified(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_REFUSED_RATE=1000/1m")
	bodies := []string{
		`{"a":"\u001B"}`, `{"a":"\u001b"}`, `{ "a" :	[1 ,2 ] }`, `{"a":1,"a":2}`, `{"n":1.0}`,
		"payload=%7B%22a%22%3A1%7D", "{\"a\":1}\r\n", "\xef\xbb\xbf{}", "<a>&#x1b;</a>",
	}
	types := []string{"application/json", "application/json; charset=utf-8", "application/x-www-form-urlencoded", ""}
	want := map[string]string{}
	for i, body := range bodies {
		for j, contentType := range types {
			key := fmt.Sprint(i, "-", j)
			header := githubHeader(key, []byte(body))
			header["Content-Type"] = []string{contentType}
			if contentType == "" {
				delete(header, "Content-Type")
			}
			a, err := s.request(http.MethodPost, "/hooks/github", header, []byte(body))
			if err != nil || a.status != 200 {
				t.Errorf("%q as %q: %d, %v", body, contentType, a.status, err)
			}
			want[key] = body
			altered := []byte(body)
			altered[(i+j)%len(altered)] ^= 1
			if a, err = s.request(http.MethodPost, "/hooks/github", header, altered); err != nil || a.status != 401 {
				t.Errorf("%q for %q: %d, %v; want 401", altered, body, a.status, err)
			}
		}
	}
	await(t, patience, "all are delivered", func() bool { return len(sink.seen()) == len(want) })
	for key, body := range want {
		sameBody(t, sink.where(func(a arrival) bool { return a.key == key }), body)
	}
}

// zipped compresses a text.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestB20CompressedBodiesOnTheWireAndDecoded(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, slices.Concat(onlySources("wire", "decoded"), inboundSource("wire", "github"),
		inboundSource("decoded", "github", "SIGNED_BODY=decoded"))...)
	plain := `{"text":"` + strings.Repeat("tide ", 200) + `"}`
	packed, bomb := zipped(t, plain), zipped(t, strings.Repeat("0", 10<<20))
	for _, test := range []struct {
		rule, source, encoding, body, signs string
		want                                int
	}{
		{"wire: the compressed bytes are signed", "wire", "gzip", packed, packed, 200},
		{"wire: the text is signed", "wire", "gzip", packed, plain, 401},
		{"wire: nothing is inflated", "wire", "gzip", bomb, bomb, 200},
		{"wire: an encoding that nobody here reads", "wire", "br", "\x8b\x02\x80{}\x03", "\x8b\x02\x80{}\x03", 200},
		{"decoded: the text is signed", "decoded", "gzip", packed, plain, 200},
		{"decoded: the compressed bytes are signed", "decoded", "gzip", packed, packed, 401},
		{"decoded: not compressed at all", "decoded", "", plain, plain, 200},
		{"decoded: a bomb", "decoded", "gzip", bomb, plain, 413},
		{"decoded: an encoding that nobody here reads", "decoded", "br", packed, plain, 415},
		{"decoded: two encodings", "decoded", "gzip, gzip", packed, plain, 415},
	} {
		header := githubHeader(test.rule, []byte(test.signs))
		if test.encoding != "" {
			header.Set("Content-Encoding", test.encoding)
		}
		a, err := s.request(http.MethodPost, "/hooks/"+test.source, header, []byte(test.body))
		if err != nil || a.status != test.want {
			t.Errorf("%s: %d %s, %v; want %d", test.rule, a.status, a.text, err, test.want)
		}
		if a.status != 200 {
			continue
		}
		s.awaitState(a.receipt.ID, "delivered")
		got := sink.of(a.receipt.ID)
		sameBody(t, got, test.body)
		if encoding := got[0].header.Get("Content-Encoding"); encoding != test.encoding {
			t.Errorf("%s: forwarded with the encoding %q", test.rule, encoding)
		}
	}
}

func TestB21NothingStartsWithoutASecret(t *testing.T) {
	t.Parallel()
	s := newService(t, "http://127.0.0.1:9/")
	for rule, settings := range map[string][]string{
		"no secret":         {"WEIR_SOURCE_GITHUB_SECRET="},
		"only spaces":       {"WEIR_SOURCE_GITHUB_SECRET= \t "},
		"only a previous":   {"WEIR_SOURCE_GITHUB_SECRET=", "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS=" + blackboxSecret},
		"basic, half of it": {"WEIR_SOURCE_GITHUB_SCHEME=basic", "WEIR_SOURCE_GITHUB_SECRET=user:"},
	} {
		s.set("WEIR_SOURCE_GITHUB_SCHEME=", "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS=")
		s.set(settings...)
		if status, said := s.call("serve"); status != cli.ExitUsage || !strings.Contains(said, "WEIR_SOURCE_GITHUB_SECRET") {
			t.Errorf("%s: status %d\n%s", rule, status, said)
		}
	}
	s.set("WEIR_SOURCES=none", "WEIR_SOURCE_GITHUB_SECRET=", "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS=", "WEIR_SOURCE_GITHUB_SCHEME=")
	if status, said := s.call("serve"); status != cli.ExitUsage || !strings.Contains(said, "WEIR_SOURCE_NONE_SCHEME") {
		t.Errorf("a source named none: status %d\n%s", status, said)
	}
	s.set("WEIR_SOURCE_NONE_SCHEME=none")
	s.start()
	if log := s.said.String(); !strings.Contains(log, "WEIR_SOURCE_NONE_SCHEME") || !strings.Contains(log, `"WARN"`) {
		t.Errorf("no warning of an unsigned source in\n%s", log)
	}
}

// stripeHeader signs a body as Stripe does, once with each secret.
func stripeHeader(body string, secrets ...string) http.Header {
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	value := "t=" + stamp
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "." + body))
		value += ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	return http.Header{"Stripe-Signature": {value}, "Content-Type": {"application/json"}}
}

func TestB22ASecretIsChangedWithoutLosingEvents(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	const older, newer, removed = "whsec_the older secret", "whsec_the newer secret", "whsec_a removed secret"
	s := started(t, sink.url, append(onlySources("stripe"), "WEIR_SOURCE_STRIPE_SECRET="+newer, "WEIR_SOURCE_STRIPE_SECRET_PREVIOUS="+older)...)
	ten := slices.Repeat([]string{removed}, 10)
	for i, test := range []struct {
		rule    string
		secrets []string
		want    int
	}{
		{"the new one", []string{newer}, 200},
		{"the old one", []string{older}, 200},
		{"one of several matches", []string{removed, removed, older}, 200},
		{"the tenth matches", append(ten[:9:9], newer), 200},
		{"the eleventh is not looked at", append(ten[:10:10], newer), 401},
		{"a removed one", []string{removed}, 401},
		{"none", nil, 401},
	} {
		body := fmt.Sprintf(`{"id":"evt_%d"}`, i)
		a, err := s.request(http.MethodPost, "/hooks/stripe", stripeHeader(body, test.secrets...), []byte(body))
		if err != nil || a.status != test.want {
			t.Errorf("%s: %d %s, %v; want %d", test.rule, a.status, a.text, err, test.want)
		}
	}
	for position, want := range map[string]int{"0": 2, "1": 2} {
		if got := s.counted(fmt.Sprintf("weir_secret_matched_total{source=%q,secret=%q}", "stripe", position)); got != want {
			t.Errorf("the secret in position %s matched %d times, want %d\n%s", position, got, want, s.metrics())
		}
	}
	s.stop()
	s.set("WEIR_SOURCE_STRIPE_SECRET_PREVIOUS=")
	s.start()
	const body = `{"id":"evt_later"}`
	if a, err := s.request(http.MethodPost, "/hooks/stripe", stripeHeader(body, older), []byte(body)); err != nil || a.status != 401 {
		t.Errorf("by a secret that was taken away: %d, %v", a.status, err)
	}
	if strings.Contains(s.said.String(), "whsec_") {
		t.Error("a secret is in the log")
	}
}

func TestB23TheSendersClockMayBeOffByTheTolerance(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, append(sourcesOf("slack"), "WEIR_REFUSED_RATE=1000/1m")...)
	now := time.Now().Unix()
	stale := 0
	for i, test := range []struct {
		stamp string
		want  string
	}{
		{fmt.Sprint(now + 2), "accepted"}, {fmt.Sprint(now + 270), "accepted"}, {fmt.Sprint(now - 270), "accepted"},
		{fmt.Sprint(now + 400), "stale"}, {fmt.Sprint(now - 301), "stale"}, {fmt.Sprint(now + 10*365*86400), "stale"},
		{"0", "stale"}, {fmt.Sprint(now * 1000), "stale"}, {"99999999999999999999999999", "bad_signature"},
		{"-1", "bad_signature"}, {"soon", "bad_signature"}, {"1e9", "bad_signature"},
	} {
		body := fmt.Sprintf(`{"type":"event_callback","event_id":"Ev%d"}`, i)
		a, err := s.request(http.MethodPost, "/hooks/slack", http.Header{
			"X-Slack-Request-Timestamp": {test.stamp}, "X-Slack-Signature": {"v0=" + macOf("v0:"+test.stamp+":"+body)},
		}, []byte(body))
		if accepted := a.status == 200; err != nil || accepted != (test.want == "accepted") || !accepted && a.status != 401 {
			t.Errorf("stamp %s: %d %s, %v; want %s", test.stamp, a.status, a.text, err, test.want)
		}
		if a.status == 401 {
			stale++
		}
	}
	counted := s.counted(intakeOf("slack", "stale")) + s.counted(intakeOf("slack", "bad_signature"))
	if counted != stale || s.counted(intakeOf("slack", "stale")) < 4 {
		t.Errorf("%d of %d refusals are counted\n%s", counted, stale, s.metrics())
	}
	if got := strings.Count(s.said.String(), `"request not stored"`); got != stale {
		t.Errorf("%d reasons in the log for %d refusals", got, stale)
	}
}
