package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/flaky"
)

// flakyEnv is an environment that can listen, and hands over what is printed.
func flakyEnv(stdout, stderr io.Writer) Env {
	return Env{Stdout: stdout, Stderr: stderr, Listen: (&net.ListenConfig{}).Listen}
}

func TestFlakyServesUntilItsContextEnds(t *testing.T) {
	out, printed := io.Pipe()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	var ended error
	running.Go(func() {
		ended = Run(ctx, flakyEnv(printed, &log), []string{"flaky", "--addr", "127.0.0.1:0", "--fail-first", "1", "--status", "hang"})
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "flaky listens on ")
	if err != nil || !found || strings.HasSuffix(url, ":0") {
		t.Fatalf("printed %q (%v)", line, err)
	}
	answer, err := http.Post(url, "text/plain", strings.NewReader("x"))
	if err != nil || answer.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("%v %v", answer, err)
	}
	answer.Body.Close()
	// A request that hangs by the script does not keep the command.
	var hanging sync.WaitGroup
	hanging.Go(func() {
		if hung, err := http.Post(url, "text/plain", strings.NewReader("x")); err == nil {
			hung.Body.Close()
			t.Errorf("a hanging request was answered %d", hung.StatusCode)
		}
	})
	waitForRequests(t, url, `"requests":2`)
	cancel()
	running.Wait()
	hanging.Wait()
	if ended != nil {
		t.Errorf("ended with %v", ended)
	}
	for _, want := range []string{"answer=503", "answer=hang", `rule="fail-first"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log without %s:\n%s", want, log.String())
		}
	}
}

// waitForRequests reads the counts until they hold a text.
func waitForRequests(t *testing.T, url, want string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		answer, err := http.Get(url + "/_flaky/stats")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), want) {
			return
		}
	}
	t.Fatalf("the counts never held %s", want)
}

func TestFlakyFlagsMakeTheRules(t *testing.T) {
	refusal := map[string]string{"Retry-After": "{retry_after}"}
	seconds := func(n int) flaky.Duration { return flaky.Duration(time.Duration(n) * time.Second) }
	tests := []struct {
		args string
		want []flaky.Rule
	}{
		{"", []flaky.Rule{{Name: "answer", Answer: flaky.Answer{Status: 200}}}},
		{"--status 503 --retry-after 30", []flaky.Rule{
			{Name: "answer", Answer: flaky.Answer{Status: 503, Headers: map[string]string{"Retry-After": "30"}}},
		}},
		{"--outage 10s-13s --fail reset --delay 1s", []flaky.Rule{
			{Name: "outage", When: flaky.When{From: seconds(10), To: seconds(13)}, Answer: flaky.Answer{Fault: flaky.FaultReset, Delay: seconds(1)}},
			{Name: "answer", Answer: flaky.Answer{Status: 200, Delay: seconds(1)}},
		}},
		{"--cap 60/1m --too-large 10 --header A:b --body x", []flaky.Rule{
			{Name: "too-large", When: flaky.When{LargerThan: 10}, Answer: flaky.Answer{Status: 413}},
			{Name: "cap", When: flaky.When{Over: flaky.Cap{N: 60, Per: time.Minute}}, Answer: flaky.Answer{Status: 429, Headers: refusal}},
			{Name: "answer", Answer: flaky.Answer{Status: 200, Body: "x", Headers: map[string]string{"A": "b"}}},
		}},
		{"--cap 60/1m --retry-after none --fail-tries 1 --fail-chance 0.5", []flaky.Rule{
			{Name: "fail-tries", When: flaky.When{Tries: 1}, Answer: flaky.Answer{Status: 503}},
			{Name: "fail-chance", When: flaky.When{Chance: 0.5}, Answer: flaky.Answer{Status: 503}},
			{Name: "cap", When: flaky.When{Over: flaky.Cap{N: 60, Per: time.Minute}}, Answer: flaky.Answer{Status: 429}},
			{Name: "answer", Answer: flaky.Answer{Status: 200}},
		}},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			var printed bytes.Buffer
			args := append([]string{"flaky", "--print"}, strings.Fields(test.args)...)
			if err := Run(t.Context(), flakyEnv(&printed, io.Discard), args); err != nil {
				t.Fatal(err)
			}
			got, err := flaky.Parse(printed.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Rules); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlakyRefusesWrongArgumentsAsUsage(t *testing.T) {
	tests := []string{
		"--script no-such-script", "--script too-large --status 500", "--status teapot", "--status 99",
		"--fail never", "--outage 10s", "--outage 13s-10s", "--cap 60", "--header x", "surplus", "--delay 5", "--unknown",
	}
	for _, args := range tests {
		t.Run(args, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			fields := append([]string{"--addr", "127.0.0.1:0"}, strings.Fields(args)...)
			err := Run(ctx, flakyEnv(io.Discard, io.Discard), append([]string{"flaky"}, fields...))
			if !errors.As(err, new(usageError)) {
				t.Errorf("error %v, want one of usage", err)
			}
		})
	}
}

func TestFlakyPrintsAScriptThatItReads(t *testing.T) {
	var printed bytes.Buffer
	if err := Run(t.Context(), flakyEnv(&printed, io.Discard), []string{"flaky", "--script", "daily-quota", "--print"}); err != nil {
		t.Fatal(err)
	}
	got, err := flaky.Parse(printed.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want, err := flaky.ReadyMade("daily-quota")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("script (-want +got):\n%s", diff)
	}
}

func TestFlakyHelpIsNoError(t *testing.T) {
	var help bytes.Buffer
	if err := Run(t.Context(), flakyEnv(&help, io.Discard), []string{"flaky", "-h"}); err != nil || !strings.Contains(help.String(), "outage-then-cap") {
		t.Errorf("%v\n%s", err, help.String())
	}
}
