package e2e

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/cli"
)

// gate is a downstream that keeps every request until it is opened.
type gate struct {
	arrived chan struct{}
	open    chan struct{}
}

func newGate() *gate {
	return &gate{arrived: make(chan struct{}, 100), open: make(chan struct{})}
}

func (g *gate) answer(_ http.ResponseWriter, r *http.Request, _ arrival) {
	g.arrived <- struct{}{}
	select {
	case <-g.open:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

func TestB2AStopCountsOnlyWhatWasOnTheWire(t *testing.T) {
	t.Parallel()
	const events, slots = 10, 2
	g := newGate()
	sink := newDownstream(t, g.answer)
	s := started(t, sink.url, "WEIR_DESTINATION_DEFAULT_CONCURRENCY=2")
	var ids []string
	for i := range events {
		ids = append(ids, s.send(fmt.Sprint("k", i), "{}"))
	}
	receives(t, "a request is out", g.arrived)
	receives(t, "another is out", g.arrived)
	s.signal(syscall.SIGTERM)
	await(t, patience, "the listener is closed", func() bool { return s.ask("/livez") == 0 })
	close(g.open)
	if status := s.exit(30 * time.Second); status != cli.ExitStopped {
		t.Errorf("exit status %d, want %d", status, cli.ExitStopped)
	}
	if got := len(sink.seen()); got != slots {
		t.Errorf("%d requests before the end, want the %d that were out", got, slots)
	}
	s.start()
	for _, id := range ids {
		d := s.awaitState(id, "delivered")
		if d.Spent != 1 || len(d.Attempts) != 1 || len(sink.of(id)) != 1 {
			t.Errorf("%s: %d spent, %d attempts, %d requests; want 1 of each", id, d.Spent, len(d.Attempts), len(sink.of(id)))
		}
	}
}

func TestB82AStopGoesInItsOrder(t *testing.T) {
	t.Parallel()
	g := newGate()
	sink := newDownstream(t, g.answer)
	s := started(t, sink.url, "WEIR_SHUTDOWN_DELAY=2s", "WEIR_SHUTDOWN_GRACE=20s")
	first := s.send("before", "{}")
	receives(t, "it is out", g.arrived)
	begun := time.Now()
	s.signal(syscall.SIGTERM)
	await(t, patience, "not ready", func() bool { return s.ask("/readyz") == 503 })
	if a, err := s.post("github", "during", "{}"); err != nil || a.status != 200 {
		t.Errorf("during the delay a webhook is answered %d, %v; want 200", a.status, err)
	}
	if status := s.ask("/livez"); status != 200 {
		t.Errorf("during the delay /livez answers %d", status)
	}
	await(t, patience, "the listener is closed", func() bool { return s.ask("/livez") == 0 })
	if waited := time.Since(begun); waited < 2*time.Second {
		t.Errorf("the listener closed after %s, want the delay of 2s first", waited)
	}
	if s.running.over() {
		t.Error("the process ended with a request out")
	}
	close(g.open)
	if status := s.exit(30 * time.Second); status != cli.ExitStopped {
		t.Errorf("exit status %d, want %d", status, cli.ExitStopped)
	}
	wantSound(t, s.database, []string{first})
	s.start()
	s.awaitState(first, "delivered")
	if got := len(sink.of(first)); got != 1 {
		t.Errorf("%d requests for what ended within the grace, want 1", got)
	}
}

func TestB82DurationsNeedAUnitAndNoSign(t *testing.T) {
	t.Parallel()
	for value, good := range map[string]bool{"30": false, "30s": true, "0": false, "0s": true, "-5s": false, "1d": false} {
		s := newService(t, "http://127.0.0.1:9/", "WEIR_SHUTDOWN_GRACE="+value)
		status, said := s.call("config", "--check")
		if (status == cli.ExitStopped) != good || !good && (status != cli.ExitUsage || !strings.Contains(said, "WEIR_SHUTDOWN_GRACE")) {
			t.Errorf("%s: status %d, %q", value, status, said)
		}
	}
}

func TestAStopCutsWhatOutlastsTheGraceAndSpendsNothing(t *testing.T) {
	t.Parallel()
	g := newGate()
	sink := newDownstream(t, g.answer)
	s := started(t, sink.url, "WEIR_SHUTDOWN_GRACE=500ms", "WEIR_DESTINATION_DEFAULT_TIMEOUT=5m")
	id := s.send("k", "{}")
	receives(t, "it is out", g.arrived)
	s.signal(syscall.SIGTERM)
	if status := s.exit(20 * time.Second); status != cli.ExitStopped {
		t.Errorf("exit status %d, want %d", status, cli.ExitStopped)
	}
	close(g.open)
	s.start()
	d := s.awaitState(id, "delivered")
	if len(d.Attempts) != 2 || d.Attempts[0].Spent || !d.Attempts[1].Spent || d.Spent != 1 {
		t.Errorf("%d spent, attempts %+v; want a first that was cut and spent nothing, and a second that was delivered", d.Spent, d.Attempts)
	}
	wantRepeat(t, sink.of(id), "{}")
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	g := newGate()
	sink := newDownstream(t, g.answer)
	s := started(t, sink.url, "WEIR_SHUTDOWN_GRACE=10m", "WEIR_DESTINATION_DEFAULT_TIMEOUT=10m")
	id := s.send("k", "{}")
	receives(t, "it is out", g.arrived)
	s.signal(syscall.SIGTERM)
	await(t, patience, "the listener is closed", func() bool { return s.ask("/livez") == 0 })
	s.signal(syscall.SIGINT)
	if status := s.exit(20 * time.Second); status != cli.ExitFailure {
		t.Errorf("exit status %d, want %d", status, cli.ExitFailure)
	}
	close(g.open)
	s.start()
	s.awaitState(id, "delivered")
}

func TestAStopUnderTrafficLosesNothing(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_SHUTDOWN_DELAY=300ms")
	storm := newSteadySenders(t, s, 60, 20)
	for i := range 2 {
		await(t, 30*time.Second, "more is accepted", func() bool { return storm.accepted() >= 20*(i+1) })
		s.stop()
		s.start()
	}
	storm.end(t)
	for id := range storm.ids() {
		await(t, 30*time.Second, id+" has arrived", func() bool { return len(sink.of(id)) > 0 })
		if got := len(sink.of(id)); got != 1 {
			t.Errorf("%s arrived %d times, want once: nothing crashed", id, got)
		}
	}
}

func TestWrongSettingsAreAllToldAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, "ftp://example.com", "WEIR_SOURCE_GITHUB_SECRET=", "WEIR_API_TOKEN=short",
		"WEIR_SHUTDOWN_GRACE=20", "WEIR_DESTINATION_DEFAULT_RETRY_BUDGET=many", "WEIR_DATABSE=x")
	status, said := s.call("serve")
	if status != cli.ExitUsage {
		t.Errorf("exit status %d, want %d", status, cli.ExitUsage)
	}
	for _, name := range []string{
		"WEIR_FORWARD_URL", "WEIR_SOURCE_GITHUB_SECRET", "WEIR_API_TOKEN", "WEIR_SHUTDOWN_GRACE",
		"WEIR_DESTINATION_DEFAULT_RETRY_BUDGET", "WEIR_DATABSE", "did you mean WEIR_DATABASE",
	} {
		if !strings.Contains(said, name) {
			t.Errorf("nothing is said of %s:\n%s", name, said)
		}
	}
	if strings.Contains(said, "short\n") {
		t.Errorf("a token is shown:\n%s", said)
	}
}

func TestAPortInUseEndsTheStart(t *testing.T) {
	t.Parallel()
	s := newService(t, "http://127.0.0.1:9/")
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	status, said := s.call("serve")
	if status != cli.ExitFailure || !strings.Contains(said, s.address) || !strings.Contains(said, "address already in use") {
		t.Errorf("status %d and %q, want %d and the address", status, said, cli.ExitFailure)
	}
	listener.Close()
	s.start()
	s.send("k", "{}")
}

func TestHealthcheckAsksTheServiceBesideIt(t *testing.T) {
	t.Parallel()
	s := newService(t, "http://127.0.0.1:9/")
	if status, said := s.call("healthcheck"); status != cli.ExitFailure {
		t.Errorf("without a service: status %d, %q", status, said)
	}
	s.start()
	if status, said := s.call("healthcheck"); status != cli.ExitStopped || said != "ok\n" {
		t.Errorf("beside a service: status %d, %q", status, said)
	}
}
