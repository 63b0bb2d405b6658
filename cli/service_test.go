package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/config"
	"weir/flaky"
	"weir/service"
)

const (
	testToken  = "a-token-for-the-tests"
	testSecret = "a-secret-for-the-tests"
)

// served is a service on loopback with a scripted downstream behind it.
type served struct {
	downstream *flaky.Server
	// env is that of a client command, with the service's settings.
	env Env
	out *bytes.Buffer
}

// serveFor starts a service until the test ends. Its source is github, and its
// destination the script.
func serveFor(t *testing.T, script flaky.Script, more ...string) served {
	t.Helper()
	downstream, err := flaky.New(script)
	if err != nil {
		t.Fatal(err)
	}
	sink := httptest.NewServer(downstream)
	t.Cleanup(sink.Close)
	environ := append([]string{
		"WEIR_ADDR=127.0.0.1:0", "WEIR_DATABASE=" + filepath.Join(t.TempDir(), "weir.db"),
		"WEIR_SOURCES=github", "WEIR_SOURCE_GITHUB_SECRET=" + testSecret,
		"WEIR_FORWARD_URL=" + sink.URL, "WEIR_API_TOKEN=" + testToken,
	}, more...)
	out := &bytes.Buffer{}
	w := quietEnv(out)
	w.Environ = environ
	w.Environ = append(slices.Clip(environ), "WEIR_URL="+startService(t, w))
	return served{downstream: downstream, env: w, out: out}
}

// startService runs the service by the code that serves and returns its address.
func startService(t *testing.T, w Env) string {
	t.Helper()
	s, err := config.Load(w.Environ)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := serviceOf(w, s)
	c.Log, c.Heap = io.Discard, nil
	running, err := service.Open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if err := running.Run(ctx); err != nil {
			t.Errorf("the service ended: %v", err)
		}
		if err := running.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); group.Wait() })
	return "http://" + running.Addr().String()
}

// call runs a command and returns what it printed.
func (s served) call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	s.out.Reset()
	err := Run(t.Context(), s.env, args)
	return s.out.String(), err
}

// says fails unless the parts appear in the text, in this order.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%q does not follow in\n%s", part, text)
			return
		}
		rest = after
	}
}

// alwaysAnswers is a script with one answer for everything.
func alwaysAnswers(a flaky.Answer) flaky.Script {
	return flaky.Script{Rules: []flaky.Rule{{Answer: a}}}
}

// quietEnv is the real environment with other ends for its output.
func quietEnv(stdout io.Writer) Env {
	return Env{
		Version: "devel", Stdin: strings.NewReader(""), Stdout: stdout, Stderr: io.Discard,
		Listen: (&net.ListenConfig{}).Listen, Dial: (&net.Dialer{}).DialContext,
	}
}

// environ is an environment that works; each test changes what it is about.
func environ(changes ...string) []string {
	return append([]string{
		"WEIR_SOURCES=github", "WEIR_SOURCE_GITHUB_SECRET=a secret of the tests", "WEIR_FORWARD_URL=http://127.0.0.1:3000/in",
	}, changes...)
}

// waitFor fails unless something becomes so within half a minute.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); !so(); {
		select {
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		case <-tick:
		}
	}
}
