package e2e

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
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
	await(t, patience, "it is stopping", func() bool { return s.ask("/readyz") == 503 })
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
	await(t, patience, "the delay is over", func() bool { return time.Since(begun) > 3*time.Second })
	if a, err := s.post("github", "while the attempt is out", "{}"); err != nil || a.status != 200 {
		t.Errorf("while an attempt is out a webhook is answered %d, %v; want 200", a.status, err)
	}
	if s.running.over() {
		t.Error("the process ended with a request out")
	}
	close(g.open)
	await(t, patience, "the listener is closed", func() bool { return s.ask("/livez") == 0 })
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

// TestAStopRefusesNoSenderWhileAttemptsAreOut: an application that takes its
// time must not cost the events of the senders that will not come again.
func TestAStopRefusesNoSenderWhileAttemptsAreOut(t *testing.T) {
	t.Parallel()
	g := newGate()
	sink := newDownstream(t, g.answer)
	s := started(t, sink.url, "WEIR_SHUTDOWN_GRACE=20s")
	s.send("out", "{}")
	receives(t, "it is out", g.arrived)
	s.signal(syscall.SIGTERM)
	await(t, patience, "it is stopping", func() bool { return s.ask("/readyz") == 503 })
	var ids []string
	for i := range 20 {
		a, err := s.post("github", fmt.Sprint("late", i), "{}")
		if err != nil || a.status != 200 {
			t.Fatalf("late event %d is answered %d, %v; want 200", i, a.status, err)
		}
		ids = append(ids, a.receipt.ID)
	}
	close(g.open)
	if status := s.exit(30 * time.Second); status != cli.ExitStopped {
		t.Errorf("exit status %d, want %d", status, cli.ExitStopped)
	}
	s.start()
	for _, id := range ids {
		s.awaitState(id, "delivered")
	}
}

// TestAnIdleExitLeavesNoEventBehind: one that comes in while the idle service
// closes is delivered, whether or not another request ever comes.
func TestAnIdleExitLeavesNoEventBehind(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_IDLE_EXIT=1s", "WEIR_SHUTDOWN_DELAY=2s")
	await(t, patience, "it begins to close", func() bool { return s.ask("/readyz") == 503 })
	a, err := s.post("github", "late", "{}")
	if err != nil || a.status != 200 {
		t.Fatalf("answered %d, %v", a.status, err)
	}
	if status := s.exit(30 * time.Second); status != cli.ExitStopped {
		t.Errorf("exit status %d, want %d", status, cli.ExitStopped)
	}
	if got := len(sink.of(a.receipt.ID)); got != 1 {
		t.Errorf("it was delivered %d times before the exit, want once", got)
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
	await(t, patience, "it is stopping", func() bool { return s.ask("/readyz") == 503 })
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

// TestARestartWithASocketUnitRefusesNobody: the socket is open before the
// program begins, as systemd does it, and keeps the queue of connections while
// no process is there.
func TestARestartWithASocketUnitRefusesNobody(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	s := newService(t, sink.url)
	s.inherits = socket
	s.address = listener.Addr().String()
	s.start()
	s.send("before", "{}")
	s.stop()
	answered := make(chan answered, 1)
	var sender sync.WaitGroup
	sender.Go(func() {
		a, err := s.post("github", "between", "{}")
		if err != nil {
			t.Errorf("sent while no process was there: %v", err)
		}
		answered <- a
	})
	s.start()
	sender.Wait()
	a := <-answered
	if a.status != 200 {
		t.Fatalf("answered %d, want 200", a.status)
	}
	s.awaitState(a.receipt.ID, "delivered")
}
