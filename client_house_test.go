package main

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/flaky"
)

const (
	testToken  = "a-token-for-the-tests"
	testSecret = "a-secret-for-the-tests"
)

// served is a service on loopback with a scripted downstream behind it.
type served struct {
	downstream *flaky.Server
	// world is that of a client command, with the service's settings.
	world world
	out   *bytes.Buffer
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
	w := quietWorld(out)
	w.environ = environ
	w.environ = append(slices.Clip(environ), "WEIR_URL="+startHouse(t, w))
	return served{downstream: downstream, world: w, out: out}
}

// startHouse runs the service by the code that serves and returns its address.
func startHouse(t *testing.T, w world) string {
	t.Helper()
	s, err := loadSettings(w.environ)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := serviceOf(w, s)
	c.log, c.heap = io.Discard, nil
	inside, err := openService(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := inside.run(ctx); err != nil {
			t.Errorf("the service ended: %v", err)
		}
		if err := inside.close(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return "http://" + inside.addr().String()
}

// call runs a command and returns what it printed.
func (s served) call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	s.out.Reset()
	err := run(t.Context(), s.world, args)
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
