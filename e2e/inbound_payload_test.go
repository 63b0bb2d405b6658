package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/config"
)

// payload is one body as a provider sends it.
type payload struct {
	name   string
	header http.Header
	body   string
	// scheme is that of its own provider, "" where it is anybody's.
	scheme string
}

// payloads reads testdata/payloads.
func payloads(t *testing.T) []payload {
	t.Helper()
	files, err := filepath.Glob("../testdata/payloads/*.*")
	if err != nil {
		t.Fatal(err)
	}
	var all []payload
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), ".") {
			continue
		}
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		one := payload{name: filepath.Base(file), body: string(body), header: http.Header{}}
		if strings.HasSuffix(one.name, ".b64.txt") {
			if body, err = base64.StdEncoding.DecodeString(strings.TrimSpace(one.body)); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			one.body = string(body)
		}
		one.describe()
		all = append(all, one)
	}
	if len(all) < 28 {
		t.Fatalf("%d payloads", len(all))
	}
	return all
}

// describe finds out from the name who sends a payload, and as what.
func (p *payload) describe() {
	first, _, _ := strings.Cut(p.name, "_")
	if config.IsScheme(first) {
		p.scheme = first
	}
	form := regexp.MustCompile(`_form\.|^slack_(slash|interactive)|^twilio_`)
	switch {
	case form.MatchString(p.name):
		p.header.Set("Content-Type", "application/x-www-form-urlencoded")
	case strings.HasSuffix(p.name, ".b64.txt") && !strings.HasPrefix(p.name, "gzip"):
		p.header.Set("Content-Type", "application/octet-stream")
	default:
		p.header.Set("Content-Type", "application/json")
	}
	if p.name == "gzip_body.b64.txt" {
		p.header.Set("Content-Encoding", "gzip")
	}
}

// bearers returns the schemes that a payload is sent by. Slack's challenge is
// an event to everybody but Slack.
func (p payload) bearers() []string {
	schemes := []string{"github", config.SchemeHMAC, config.SchemeToken}
	if p.scheme != "" && p.name != "slack_url_verification.json" && !slices.Contains(schemes, p.scheme) {
		schemes = append(schemes, p.scheme)
	}
	return schemes
}

// TestPayloadsArriveUnchangedAtTheFirstTryAndAtARetry: each by its own
// provider's scheme and by others. Every pair has a destination of its own, so
// that no breaker opens over the failures that are wanted.
func TestPayloadsArriveUnchangedAtTheFirstTryAndAtARetry(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, inTurn(500, 200))
	type pair struct {
		payload
		by, name, id string
	}
	var pairs []pair
	var names, settings []string
	for _, p := range payloads(t) {
		for _, scheme := range p.bearers() {
			name := fmt.Sprint("p", len(pairs))
			pairs, names = append(pairs, pair{payload: p, by: scheme, name: name}), append(names, name)
			settings = append(settings, inboundSource(name, scheme, "TO="+name)...)
			settings = append(settings, settingsOf(config.PrefixOf(config.DestinationPrefix, name), "URL="+sink.url+"/"+name, "BACKOFF=500ms")...)
		}
	}
	settings = append(settings, onlySources(names...)...)
	s := started(t, "", append(settings, "WEIR_DESTINATIONS="+strings.Join(names, ","))...)
	providers := s.providers()
	for i, p := range pairs {
		a := s.submit(signedBy(t, providers[p.name], webhookSample{"key-" + p.name, p.body, p.header}))
		if a.status != http.StatusOK || a.receipt.Duplicate {
			t.Fatalf("%s by %s: %d %s", p.payload.name, p.by, a.status, a.text)
		}
		pairs[i].id = a.receipt.ID
	}
	eventually(t, patience, func() bool { return len(sink.seen()) >= 2*len(pairs) })
	for _, p := range pairs {
		got := sink.of(p.id)
		if len(got) != 2 || got[0].attempt != 1 || got[1].attempt != 2 {
			t.Errorf("%s by %s: came %d times: %+v", p.payload.name, p.by, len(got), s.delivery(p.id))
		}
		sameBody(t, got, p.body)
		for _, a := range got {
			for _, name := range []string{"Content-Type", "Content-Encoding"} {
				if a.header.Get(name) != p.header.Get(name) {
					t.Errorf("%s by %s: %s is %q", p.payload.name, p.by, name, a.header.Get(name))
				}
			}
		}
	}
}

// TestARetryWithOtherBytesIsARepeatOfStripes: its bodies change between tries.
func TestARetryWithOtherBytesIsARepeatOfStripes(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, sourcesOf("stripe")...)
	bodies := map[string]string{}
	for _, p := range payloads(t) {
		bodies[p.name] = p.body
	}
	first := s.submit(s.signed("stripe", "", bodies["stripe_invoice_paid.json"], nil))
	again := s.submit(s.signed("stripe", "", bodies["stripe_invoice_paid_retry.json"], nil))
	if first.status != 200 || again.status != 200 || !again.receipt.Duplicate || first.receipt.ID != again.receipt.ID {
		t.Errorf("first %d %s, again %d %s", first.status, first.text, again.status, again.text)
	}
	s.awaitState(first.receipt.ID, "delivered")
	sameBody(t, sink.of(first.receipt.ID), bodies["stripe_invoice_paid.json"])
}

// TestB11TheSameIDFromTwoSourcesIsTwoEvents, whatever hops add to the
// requests.
func TestB11TheSameIDFromTwoSourcesIsTwoEvents(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, append(append(onlySources("a", "b"), inboundSource("a", "github")...), inboundSource("b", "github")...)...)
	ids := map[string]string{}
	for i := range 3 {
		for _, source := range []string{"a", "b"} {
			a := s.submit(s.signed(source, "one id", "{}", http.Header{
				"X-Request-Id": {fmt.Sprint("hop-", i)}, "Traceparent": {fmt.Sprintf("00-%032d-%016d-01", i+1, i+1)},
				"Date": {time.Now().Add(time.Duration(i) * time.Hour).UTC().Format(http.TimeFormat)}, "X-Forwarded-For": {fmt.Sprint("203.0.113.", i)},
			}))
			if known := ids[source]; a.status != 200 || a.receipt.Duplicate != (i > 0) || known != "" && known != a.receipt.ID {
				t.Errorf("copy %d from %s: %d %s", i, source, a.status, a.text)
			}
			ids[source] = a.receipt.ID
		}
	}
	for _, id := range ids {
		s.awaitState(id, "delivered")
	}
	if len(sink.seen()) != 2 || ids["a"] == ids["b"] {
		t.Errorf("%d deliveries of %v", len(sink.seen()), ids)
	}
}

// TestSendIsTakenForEveryScheme: the command and the service are both the
// program itself. SendGrid's secret is a public key, with which nobody signs.
func TestSendIsTakenForEveryScheme(t *testing.T) {
	t.Parallel()
	schemes := slices.DeleteFunc(config.SchemeNames(), func(name string) bool { return name == "sendgrid" })
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, append(sourcesOf(schemes...), "WEIR_SOURCE_META_VERIFY_TOKEN=shown")...)
	s.settings["WEIR_URL"] = "http://" + s.address
	var calls sync.WaitGroup
	for _, scheme := range schemes {
		command := s.command("send", scheme)
		calls.Go(func() {
			out, err := command.CombinedOutput()
			checkStages(t, scheme, string(out), err)
		})
	}
	calls.Wait()
	if got := len(sink.seen()); got != len(schemes) {
		t.Errorf("%d deliveries for %d schemes", got, len(schemes))
	}
}

// checkStages looks at what the command has printed.
func checkStages(t *testing.T, scheme, out string, err error) {
	t.Helper()
	verified, key := "verified   yes", `key        \S+ \((header|json|form|body)\S*\)`
	if scheme == config.SchemeNone {
		verified = "verified   not at all"
	}
	if slices.Contains([]string{"dropbox", "lemonsqueezy", "meta", "zoom"}, scheme) {
		key = "key        (none|[0-9a-f]+)"
	}
	for _, stage := range []string{
		"sent       POST /hooks/" + scheme, verified, key, `stored     as [0-9a-f-]{36}`, "delivered  default: delivered",
	} {
		if err != nil || !regexp.MustCompile("(?m)^"+stage).MatchString(out) {
			t.Errorf("%s: no stage %q, or %v, in\n%s", scheme, stage, err, out)
		}
	}
}
