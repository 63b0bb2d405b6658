package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestB4AnAttemptThatFellDueWhileDownIsMadeAtOnce(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, inTurn(500, 200))
	s := started(t, sink.url, settingsOf("WEIR_DESTINATION_DEFAULT_", "BACKOFF=500ms", "BACKOFF_MAX=500ms")...)
	id := s.send("k", "{}")
	var due time.Time
	await(t, patience, "the first attempt is recorded", func() bool {
		d := s.delivery(id)
		if d.AttemptCount == 1 && d.NextAttemptAt != nil {
			due = *d.NextAttemptAt
		}
		return d.AttemptCount > 0
	})
	s.kill()
	await(t, patience, "the next attempt is overdue", func() bool { return time.Now().After(due) })
	s.start()
	s.awaitState(id, "delivered")
}

func TestB4OneEventOnAnIdleServiceIsDeliveredAtOnce(t *testing.T) {
	t.Parallel()
	const times = 100
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	// Each event comes at the moment when the loop that brought the one
	// before finds nothing more to do.
	for i := range times {
		s.send(fmt.Sprint("k", i), "{}")
		await(t, patience, "it is delivered", func() bool { return len(sink.seen()) == i+1 })
	}
}

func TestB13ADeliveryThatWasNotRecordedIsRepeatedTheSame(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	sink := newDownstream(t, func(w http.ResponseWriter, r *http.Request, a arrival) {
		if a.number == 1 {
			arrived <- struct{}{}
			<-release
		}
	})
	s := started(t, sink.url)
	const body = `{"charge":"once"}`
	id := s.send("k", body)
	receives(t, "the first request arrives", arrived)
	s.kill()
	close(release)
	s.start()
	s.awaitState(id, "delivered")
	wantRepeat(t, sink.of(id), body)
}

func TestB13AnAnswerAfterTheTimeoutIsRepeatedTheSame(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, func(w http.ResponseWriter, r *http.Request, a arrival) {
		if a.number == 1 {
			hang(w, r, a)
		}
	})
	s := started(t, sink.url, settingsOf("WEIR_DESTINATION_DEFAULT_", "TIMEOUT=500ms", "BACKOFF=50ms")...)
	const body = `{"charge":"once"}`
	id := s.send("k", body)
	d := s.awaitState(id, "delivered")
	if d.Spent != 2 || d.Attempts[0].Outcome != "network" {
		t.Errorf("%d spent, attempts %+v; want a network fault first", d.Spent, d.Attempts)
	}
	wantRepeat(t, sink.of(id), body)
}

// receives waits for a signal.
func receives(t *testing.T, what string, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		t.Fatalf("not within %s: %s", patience, what)
	}
}

// wantRepeat checks that two arrivals are one event, so that a downstream can
// drop the second.
func wantRepeat(t *testing.T, arrivals []arrival, body string) {
	t.Helper()
	sameBody(t, arrivals, body)
	if len(arrivals) != 2 {
		t.Fatalf("%d arrivals, want 2", len(arrivals))
	}
	first, second := arrivals[0], arrivals[1]
	if second.attempt <= first.attempt {
		t.Errorf("attempts %d and %d, want the second to be higher", first.attempt, second.attempt)
	}
	for _, name := range []string{"Weir-Event-Id", "Weir-Key", "Weir-Source", "Weir-Received-At", "Idempotency-Key", "X-Github-Delivery", "X-Hub-Signature-256"} {
		if first.header.Get(name) == "" || !slices.Equal(first.header[name], second.header[name]) {
			t.Errorf("%s is %q and then %q, want it twice the same", name, first.header[name], second.header[name])
		}
	}
}

func TestB34RequestsThatHangLeaveRoomForTheOthers(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, func(w http.ResponseWriter, r *http.Request, a arrival) {
		if strings.HasPrefix(a.key, "hang") {
			hang(w, r, a)
		}
	})
	s := started(t, sink.url, "WEIR_DESTINATION_DEFAULT_TIMEOUT=5m")
	for i := range 20 {
		s.send(fmt.Sprint("hang-", i), "{}")
	}
	for i := range 80 {
		s.send(fmt.Sprint("quick-", i), "{}")
	}
	quick := func(a arrival) bool { return strings.HasPrefix(a.key, "quick") }
	await(t, 30*time.Second, "80 that do not hang are delivered", func() bool { return len(sink.where(quick)) == 80 })
	last := sink.where(quick)[79].at
	hanging := sink.where(func(a arrival) bool { return !quick(a) && a.at.Before(last) })
	if len(hanging) > 3 {
		t.Errorf("%d of 4 slots were taken by what hangs, want a share to be left", len(hanging))
	}
}

func TestB34ADestinationThatHangsDoesNotSlowAnother(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, func(w http.ResponseWriter, r *http.Request, a arrival) {
		if a.path == "/hang" {
			hang(w, r, a)
		}
	})
	s := started(t, "", "WEIR_SOURCES=slow,fast", "WEIR_DESTINATIONS=slow,fast",
		"WEIR_SOURCE_SLOW_SCHEME=github", "WEIR_SOURCE_SLOW_SECRET="+blackboxSecret, "WEIR_SOURCE_SLOW_TO=slow",
		"WEIR_SOURCE_FAST_SCHEME=github", "WEIR_SOURCE_FAST_SECRET="+blackboxSecret, "WEIR_SOURCE_FAST_TO=fast",
		"WEIR_SOURCE_GITHUB_SECRET=", "WEIR_DESTINATION_SLOW_TIMEOUT=5m",
		"WEIR_DESTINATION_SLOW_URL="+sink.url+"/hang", "WEIR_DESTINATION_FAST_URL="+sink.url+"/quick")
	for _, source := range []string{"slow", "fast"} {
		for i := range 100 {
			s.sendTo(source, fmt.Sprint("k", i), "{}")
		}
	}
	await(t, 30*time.Second, "100 that do not hang are delivered", func() bool { return len(sink.at("/quick")) == 100 })
	if got := len(sink.at("/hang")); got > 4 {
		t.Errorf("%d requests hang, want at most 4", got)
	}
}

func TestB45EachAttemptHasTheWholeBody(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("whole", 20_000)
	for name, first := range map[string]answering{
		"500 500 200": inTurn(500, 500, 200),
		"closed after the head": func(w http.ResponseWriter, _ *http.Request, a arrival) {
			if a.number == 1 {
				panic(http.ErrAbortHandler)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sink := newDownstream(t, first)
			s := started(t, sink.url, "WEIR_DESTINATION_DEFAULT_BACKOFF=50ms")
			id := s.send("k", body)
			s.awaitState(id, "delivered")
			sameBody(t, sink.of(id), body)
			for i, a := range sink.of(id) {
				if a.attempt != i+1 {
					t.Errorf("request %d says that it is attempt %d", i+1, a.attempt)
				}
			}
		})
	}
}

// memory returns the resident megabytes of the service.
func (s *service) memory() int64 { return s.megabytes("VmRSS") }

// megabytes reads one figure of the memory of the service.
func (s *service) megabytes(figure string) int64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.running.command.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), figure+":")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return kilobytes >> 10
}

func TestTheLargestBodiesFitIntoASmallMachine(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := newService(t, sink.url, "WEIR_MAX_BODY=25MiB", "WEIR_DESTINATION_DEFAULT_MAX_BODY=25MiB")
	s.program = builtPlain
	s.start()
	body := strings.Repeat("x", 24<<20)
	var senders sync.WaitGroup
	for sender := range 2 {
		senders.Go(func() {
			for i := range 3 {
				if _, err := s.sendUntil(t.Context(), fmt.Sprint(sender, "-", i), body); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	await(t, 30*time.Second, "all are delivered", func() bool { return len(sink.seen()) >= 6 })
	if most := s.megabytes("VmHWM"); most >= 160 {
		t.Errorf("%d MB were in memory, want less than 160", most)
	}
}

func TestB46AnAnswerWithoutEndCostsAlmostNothing(t *testing.T) {
	t.Parallel()
	const enough = 512 << 20
	var written atomic.Int64
	sink := newDownstream(t, func(w http.ResponseWriter, _ *http.Request, a arrival) {
		if a.key != "endless" {
			return
		}
		block := make([]byte, 64<<10)
		for written.Load() < enough {
			n, err := w.Write(block)
			written.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	s := started(t, sink.url)
	for i := range 50 {
		s.awaitState(s.send(fmt.Sprint("warm-", i), "{}"), "delivered")
	}
	before := s.memory()
	d := s.awaitState(s.send("endless", "{}"), "delivered")
	most := int64(10)
	if raced() {
		most = 40 // the race detector has memory of its own
	}
	if rise := s.memory() - before; rise >= most {
		t.Errorf("memory rose by %d MB, want less than %d", rise, most)
	}
	if d.Attempts[0].Status != 200 || d.Spent != 1 {
		t.Errorf("%+v, want the status to decide", d.Attempts)
	}
	if got := written.Load(); got > 64<<20 {
		t.Errorf("%d MB were taken from an answer without end", got>>20)
	}
}

// TestB46AHeadOfAMegabyteIsAFault, unless the status before it says that the
// delivery was taken.
func TestB46AHeadOfAMegabyteIsAFault(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, func(w http.ResponseWriter, _ *http.Request, a arrival) {
		if a.number > 2 {
			return
		}
		for i := range 1024 {
			w.Header().Set(fmt.Sprint("X-Long-", i), strings.Repeat("h", 1024))
		}
		if a.number == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s := started(t, sink.url, "WEIR_DESTINATION_DEFAULT_BACKOFF=50ms")
	d := s.awaitState(s.send("k", "{}"), "delivered")
	if len(d.Attempts) != 2 || d.Attempts[0].Outcome != "network" || !d.Attempts[0].Spent || d.Attempts[1].Status != 200 {
		t.Errorf("attempts %+v, want a recorded fault, then the status", d.Attempts)
	}
}

func TestB46ConnectionsAreGivenBack(t *testing.T) {
	t.Parallel()
	const events, concurrency = 240, 4
	page := strings.Repeat("p", 10_000)
	sink := newDownstream(t, func(w http.ResponseWriter, _ *http.Request, a arrival) {
		n, _ := strconv.Atoi(a.key)
		switch {
		case a.attempt == 1 && n%6 == 3:
			w.WriteHeader(http.StatusInternalServerError)
		case n%6 == 0:
			w.WriteHeader(http.StatusBadRequest)
		case n%60 == 1:
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, page)
	})
	s := started(t, sink.url, settingsOf("WEIR_DESTINATION_DEFAULT_",
		"BACKOFF=50ms", "RETRY_BUDGET=100000/1m", "CONCURRENCY="+strconv.Itoa(concurrency))...)
	for i := range events {
		s.send(strconv.Itoa(i), "{}")
	}
	await(t, 60*time.Second, "all have been sent", func() bool { return len(sink.seen()) >= events+events/6 })
	if opened := sink.connections(); opened > concurrency+4 {
		t.Errorf("%d connections for %d requests, want them to be used again", opened, len(sink.seen()))
	}
}

func TestB47NothingOfTheHopIsPassedOn(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	const body = `{"a":1}`
	var request strings.Builder
	request.WriteString("POST /hooks/github HTTP/1.1\r\nHost: hooks.example.com\r\nTransfer-Encoding: chunked\r\n")
	_ = githubHeader("k", []byte(body)).Write(&request)
	for _, line := range []string{
		"Connection: keep-alive, X-Of-The-Hop", "X-Of-The-Hop: 1", "Keep-Alive: timeout=5", "TE: trailers", "Trailer: X-Sum",
		"Upgrade: h2c", "Proxy-Connection: keep-alive", "Proxy-Authorization: Basic eDp5", "Accept-Encoding: br",
		"Authorization: Bearer inbound", "Cookie: session=inbound", "X-Forwarded-For: 192.0.2.1", "X-Request-Id: of-a-proxy",
		"Weir-Attempt: 99", "X-Many: one", "X-Many: two", "X-Many: three", "Content-Language: de",
	} {
		request.WriteString(line + "\r\n")
	}
	fmt.Fprintf(&request, "\r\n%x\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n", len(body), body)
	answer, err := http.ReadResponse(bufio.NewReader(s.wire(request.String())), nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", answer, err)
	}
	await(t, patience, "it is delivered", func() bool { return len(sink.seen()) == 1 })
	got := sink.seen()[0]
	sameBody(t, []arrival{got}, body)
	if got.host != strings.TrimPrefix(sink.url, "http://") {
		t.Errorf("Host is %q, want that of the downstream", got.host)
	}
	for _, name := range []string{
		"X-Of-The-Hop", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Proxy-Connection", "Proxy-Authorization",
		"Accept-Encoding", "Authorization", "Cookie", "X-Forwarded-For", "X-Request-Id", "X-Sum",
	} {
		if values, there := got.header[name]; there {
			t.Errorf("%s: %q went through", name, values)
		}
	}
	for name, want := range map[string][]string{
		"X-Many": {"one", "two", "three"}, "Content-Type": {"application/json"}, "Content-Language": {"de"},
		"X-Github-Event": {"push"}, "X-Github-Delivery": {"k"}, "X-Hub-Signature-256": githubHeader("k", []byte(body))["X-Hub-Signature-256"],
		"Weir-Attempt": {"1"}, "Weir-Source": {"github"}, "Weir-Key": {"k"}, "Weir-Event-Id": {got.event}, "Content-Length": {"7"},
	} {
		if !slices.Equal(got.header[name], want) {
			t.Errorf("%s is %q, want %q", name, got.header[name], want)
		}
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", got.header.Get("Weir-Received-At")); err != nil {
		t.Error(err)
	}
}
