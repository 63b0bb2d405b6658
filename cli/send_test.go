package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/config"
	"weir/flaky"
	"weir/signature"
	"weir/webhook"
)

func TestSendPrintsEachStage(t *testing.T) {
	s := serveFor(t, flaky.Script{})
	out, err := s.call(t, "send", "github", "--id", "7a1b")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "sent ", "POST /hooks/github", "as github: 200 OK", "verified", "yes",
		"key", "7a1b (header:X-GitHub-Delivery)", "stored", "as 0", "delivered", "default: delivered")
	out, err = s.call(t, "send", "--id", "7a1b", "github")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "duplicate", "recognised, not sent on again")
	if got := s.downstream.Stats().Requests; got != 1 {
		t.Errorf("the downstream saw %d requests, want 1", got)
	}
}

func TestSendOfAFileForwardsItsBytes(t *testing.T) {
	s := serveFor(t, alwaysAnswers(flaky.Answer{Echo: true}))
	const body = "{\"ref\" : \"refs/heads/main\"}\n"
	path := filepath.Join(t.TempDir(), "push.json")
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := s.call(t, "send", "github", path, "--header", "X-GitHub-Event: push"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.env.Stdin = strings.NewReader(body)
	if out, err := s.call(t, "send", "github", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	events := s.downstream.Requests()
	if len(events) != 2 || events[0].SHA256 != events[1].SHA256 || events[0].Size != int64(len(body)) {
		t.Errorf("the downstream saw %+v", events)
	}
}

func TestSendCountsAndRepeats(t *testing.T) {
	s := serveFor(t, flaky.Script{})
	out, err := s.call(t, "send", "github", "--count", "3", "--repeat", "1")
	if err != nil {
		t.Fatal(err)
	}
	if stored, repeats := strings.Count(out, "stored "), strings.Count(out, "duplicate "); stored != 3 || repeats != 3 {
		t.Errorf("%d stored and %d repeats in\n%s", stored, repeats, out)
	}
}

func TestSendTellsWhatWaitsAndWhy(t *testing.T) {
	s := serveFor(t, alwaysAnswers(flaky.Answer{
		Status: http.StatusTooManyRequests, Body: "slow \x1b[31mdown",
		Headers: map[string]string{"Retry-After": "90"},
	}))
	out, err := s.call(t, "send", "github")
	if err != nil {
		t.Fatalf("a delivery that waits is no failure: %v", err)
	}
	says(t, out, "pending", "default: waits for retry_after", "until", "(in 1m", "it answered 429 Too Many Requests: slow [31mdown")
}

func TestSendFailsWhenADeliveryIsDead(t *testing.T) {
	s := serveFor(t, alwaysAnswers(flaky.Answer{Status: http.StatusUnprocessableEntity}))
	out, err := s.call(t, "send", "github")
	if ExitStatus(err, io.Discard) != ExitFailure {
		t.Errorf("got %v", err)
	}
	says(t, out, "stored", "dead", "rejected", "it answered 422")
}

func TestSendSaysWhyItIsRefused(t *testing.T) {
	s := serveFor(t, flaky.Script{}, "WEIR_SOURCE_GITHUB_RATE=1/1h")
	other := s
	other.env.Environ = append(other.env.Environ, "WEIR_SOURCE_GITHUB_SECRET=another-secret-than-that")
	out, err := other.call(t, "send", "github")
	if ExitStatus(err, io.Discard) != ExitFailure {
		t.Errorf("got %v", err)
	}
	says(t, out, "401 Unauthorized", "refused", "by the settings here it verifies", "another secret")
	if strings.Contains(out, "another-secret-than-that") {
		t.Error("the secret is printed")
	}
	if _, err := s.call(t, "send", "github"); err != nil {
		t.Fatal(err)
	}
	out, err = s.call(t, "send", "github")
	if ExitStatus(err, io.Discard) != ExitFailure {
		t.Errorf("got %v", err)
	}
	says(t, out, "429 Too Many Requests", "refused", "throttled", "may be sent again in")
}

func TestSendWithoutTokenEndsWithTheStoring(t *testing.T) {
	s := serveFor(t, flaky.Script{})
	s.env.Environ = append(s.env.Environ, "WEIR_API_TOKEN=")
	out, err := s.call(t, "send", "github")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "stored", "set WEIR_API_TOKEN")
}

// A source may be set to answer with an empty 204, as Twilio and Discord want
// it: that is an acceptance like any other.
func TestSendKnowsAnEmptyAnswerForWeirs(t *testing.T) {
	t.Run("with a token the event is found by its key", func(t *testing.T) {
		s := serveFor(t, flaky.Script{}, "WEIR_SOURCE_GITHUB_STATUS=204")
		out, err := s.call(t, "send", "github", "--id", "7a1b")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		says(t, out, "204 No Content", "verified", "7a1b", "stored", "as 0", "default: delivered")
		out, err = s.call(t, "send", "github", "--id", "7a1b")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		says(t, out, "204 No Content", "duplicate", "of 0")
	})
	t.Run("without a token it is stored, and why there is no id", func(t *testing.T) {
		s := serveFor(t, flaky.Script{}, "WEIR_SOURCE_GITHUB_STATUS=204")
		s.env.Environ = append(s.env.Environ, "WEIR_API_TOKEN=")
		out, err := s.call(t, "send", "github")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		says(t, out, "stored", "yes", "because WEIR_SOURCE_GITHUB_STATUS=204", "set WEIR_API_TOKEN")
	})
	t.Run("without a key too", func(t *testing.T) {
		s := serveFor(t, flaky.Script{}, "WEIR_SOURCE_GITHUB_STATUS=204", "WEIR_SOURCE_GITHUB_KEY=none")
		out, err := s.call(t, "send", "github")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		says(t, out, "stored", "yes", "STATUS=204", "weir events --source github")
	})
}

func TestSendRefusesWrongCalls(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte("x"), maxSendBody+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{}, {"github", "/no/such/file"}, {"github", large}, {"github", "a", "b"}, {"github", "--count", "0"},
		{"github", "--count", "x"}, {"github", "--repeat", "-1"}, {"github", "--wait", "-1s"}, {"gitlab"},
		{"github", "--url", "localhost:8080"}, {"github", "--header", "no header"}, {"github", "--nonsense"},
	} {
		w := quietEnv(io.Discard)
		w.Environ = []string{"WEIR_SOURCES=github", "WEIR_SOURCE_GITHUB_SECRET=" + testSecret}
		if err := Run(t.Context(), w, append([]string{"send"}, args...)); ExitStatus(err, io.Discard) != ExitUsage {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// Whoever sends needs the settings of the source, and nothing else.
func TestSendNeedsTheSettingsOfTheSourceOnly(t *testing.T) {
	from, err := config.LoadSender([]string{"WEIR_SOURCE_GITHUB_SECRET=" + testSecret, "WEIR_URL=http://10.0.0.1:80/"}, "github")
	if err != nil {
		t.Fatal(err)
	}
	if from.Client.URL != "http://10.0.0.1:80" || from.Source.Scheme != "github" {
		t.Errorf("got %+v", from.Client)
	}
	if _, err := config.LoadSender(nil, "github"); err == nil || !strings.Contains(err.Error(), "WEIR_SOURCE_GITHUB_SECRET") {
		t.Errorf("without a secret: %v", err)
	}
}

// What is sent as a provider would verifies as the provider's, for every
// scheme that this side can sign for.
func TestSendSignsForEverySchemeB21(t *testing.T) {
	secrets := map[string]string{
		"standard": "whsec_" + strings.Repeat("c2VjcmV0", 4), "basic": "user:a-long-password", "none": "",
		"discord":  strings.Repeat("ab", 32),
		"sendgrid": "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8+O2XGeCzQ6b4LL1rVpOnGwQaM2+Tj9ppS74uJzCy4Zg8Smbhh8ruFFydDwZRaDaH/JLUlILJgi3C8Xf3uh/nQ==",
	}
	now := time.Now()
	for _, scheme := range config.SchemeNames() {
		environ := []string{
			"WEIR_SOURCES=x", "WEIR_SOURCE_X_SCHEME=" + scheme, "WEIR_PUBLIC_URL=https://hooks.example.com",
		}
		secret, special := secrets[scheme]
		if !special {
			secret = testSecret
		}
		environ = append(environ, "WEIR_SOURCE_X_SECRET="+secret)
		if scheme == "hmac" {
			environ = append(environ, "WEIR_SOURCE_X_HMAC_HEADER=X-Signature")
		}
		from, err := config.LoadSender(environ, "x")
		if err != nil {
			t.Errorf("%s: %v", scheme, err)
			continue
		}
		body := fmt.Appendf(nil, `{"id":"one","event_ts":1,"webhookTimestamp":%d}`, now.UnixMilli())
		signed, err := sending{from: from, body: body}.sign("id-1", now)
		if scheme == "discord" || scheme == "sendgrid" {
			if err == nil {
				t.Errorf("%s: signed with a public key", scheme)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", scheme, err)
			continue
		}
		var verdict signature.Verdict
		if verdict = from.Verifier.Verify(signed, now); verdict.Result != webhook.ResultAccepted {
			t.Errorf("%s: %s: %s", scheme, verdict.Result, verdict.Reason)
		}
	}
}
