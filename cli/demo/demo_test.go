package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/cli/client"
	"weir/flaky"
)

// quickPlan is the demo's plan in a few seconds.
func quickPlan() plan {
	p := fullPlan()
	p.cap = 14
	p.script = badDay(times{
		outage: 450 * time.Millisecond, recovered: 800 * time.Millisecond,
		cap: p.cap, reset: 7 * time.Second,
	})
	p.honest = burst{over: time.Second, events: 24, repeatEach: 4}
	p.greedy = burst{from: 200 * time.Millisecond, over: 500 * time.Millisecond, events: 12}
	p.greedyRate = "4/1m"
	return p
}

// demoOf is a demo that prints to out.
func demoOf(out io.Writer) Config {
	return Config{Out: out, Version: "devel", Listen: (&net.ListenConfig{}).Listen, Dial: (&net.Dialer{}).DialContext}
}

// cell returns a figure of the demo's table; the column 0 is naive, 1 weir.
func cell(t *testing.T, page, row string, column int) int {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(row) + ` +(\d+) +(\d+)$`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no row %q in\n%s", row, page)
	}
	figure, err := strconv.Atoi(found[1+column])
	if err != nil {
		t.Fatal(err)
	}
	return figure
}

func TestDemoDeliversEverythingAndSendsLittle(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := run(ctx, demoOf(&out), quickPlan()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	const naive, weir = 0, 1
	page := out.String()
	for _, want := range []struct {
		row    string
		column int
		figure int
	}{
		{"received", naive, 42},
		{"received", weir, 42},
		{"duplicates", naive, 0},
		{"duplicates", weir, 6},
		{"throttled", naive, 0},
		{"throttled", weir, 8},
		{"delivered", weir, 28},
		{"lost", weir, 0},
	} {
		if got := cell(t, page, want.row, want.column); got != want.figure {
			t.Errorf("%s: %d in column %d, want %d", want.row, got, want.column, want.figure)
		}
	}
	const storm = "outgoing requests in the worst minute"
	if got := cell(t, page, storm, weir); got < 28 || got > 28+16 {
		t.Errorf("weir sent %d requests for 28 webhooks", got)
	}
	if cell(t, page, storm, naive) <= cell(t, page, storm, weir) {
		t.Error("the naive loop sent no more than weir")
	}
	for _, part := range []string{"wait for retry_after", "requests per minute are used up", "next attempt", "takes requests again"} {
		if !strings.Contains(page, part) {
			t.Errorf("the view never says %q:\n%s", part, page)
		}
	}
}

// A demo that lost something must say so by its status.
func TestDemoFailsWhenAWebhookDoesNotArrive(t *testing.T) {
	t.Parallel()
	p := quickPlan()
	p.temp = t.TempDir() // the evidence is kept there
	p.script.Rules = append(p.script.Rules[:0:0], p.script.Rules...)
	// The outage has no end, and refuses for good.
	p.script.Rules[2].When, p.script.Rules[2].Answer.Status = flaky.When{}, 422
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p.most = 8 * time.Second
	err := run(ctx, demoOf(&out), p)
	if !errors.Is(err, ErrLost) {
		t.Errorf("the demo ends with %v", err)
	}
	if cell(t, out.String(), "lost", 1) == 0 {
		t.Errorf("nothing is called lost:\n%s", out.String())
	}
}

// Somebody may look for as long as they like.
func TestDemoStaysUntilStopped(t *testing.T) {
	t.Parallel()
	p := quickPlan()
	p.script.Rules = p.script.Rules[:2] // without outage and cap
	p.after = keepRunning
	reader, writer := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, demoOf(writer), p)
		writer.Close()
		ended <- err
	}()
	defer reader.Close()
	var page strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(page.String(), " redeliver --filter state=dead") {
		n, err := reader.Read(buffer)
		page.Write(buffer[:n])
		if err != nil {
			t.Fatalf("%v\n%s", err, page.String())
		}
	}
	found := regexp.MustCompile(`WEIR_URL=(\S+) WEIR_API_TOKEN=(\S+)`).FindStringSubmatch(page.String())
	if found == nil {
		t.Fatalf("no address and token in\n%s", page.String())
	}
	c := client.New(client.Config{URL: found[1], Token: found[2], Dial: (&net.Dialer{}).DialContext})
	defer c.Close()
	waitFor(t, "a dead delivery and a held one", func() bool {
		var dead, waiting client.List[client.Delivery]
		for path, list := range map[string]*client.List[client.Delivery]{
			"/v1/deliveries?state=dead":       &dead,
			"/v1/deliveries?waiting_for=auth": &waiting,
		} {
			if err := c.Get(t.Context(), path, list); err != nil {
				t.Fatal(err)
			}
		}
		return len(dead.Items) == 1 && len(waiting.Items) == 1
	})
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopped: %v", err)
	}
}

func TestTheCommandsOfTheDemoAreThoseOfTheProgramThatRuns(t *testing.T) {
	for program, want := range map[string]string{
		"./weir": "./weir", "weir": "weir", "/usr/local/bin/weir": "/usr/local/bin/weir",
		"/tmp/go-build123/b001/exe/weir": "go run .",
	} {
		if got := calledAs(program); got != want {
			t.Errorf("%s is called as %s, want %s", program, got, want)
		}
	}
}

// waitFor waits until something is so, for as long as the test may run.
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
