package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// wire writes bytes to a connection of its own and returns it.
func (s *service) wire(text string) net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	return conn
}

// onTheWire writes a signed webhook as it goes over a connection.
func onTheWire(key, body string, more ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "POST /hooks/github HTTP/1.1\r\nHost: hooks.example.com\r\nContent-Length: %d\r\n", len(body))
	_ = githubHeader(key, []byte(body)).Write(&text)
	for _, line := range more {
		text.WriteString(line + "\r\n")
	}
	return text.String() + "\r\n" + body
}

func TestB3ASenderThatLeavesAtTheStatusLineLosesNothing(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	for i := range 20 {
		conn := s.wire(onTheWire(fmt.Sprint("read-", i), "{}"))
		line, err := bufio.NewReaderSize(conn, 16).ReadString(' ')
		conn.Close()
		if err != nil || line != "HTTP/1.1 " {
			t.Fatalf("the answer begins with %q, %v", line, err)
		}
	}
	await(t, patience, "all are delivered", func() bool { return len(sink.seen()) == 20 })
}

func TestB3ASenderThatLeavesBeforeTheAnswerMayRepeat(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	ids := map[string]bool{}
	for i := range 20 {
		key := fmt.Sprint("gone-", i)
		s.wire(onTheWire(key, "{}")).Close()
		ids[s.send(key, "{}")] = true
	}
	await(t, patience, "all are delivered", func() bool { return len(sink.seen()) >= len(ids) })
	for id := range ids {
		d := s.awaitState(id, "delivered")
		if len(d.Attempts) != 1 || d.Attempts[0].Outcome != "delivered" {
			t.Errorf("attempts %+v, want one that was delivered", d.Attempts)
		}
	}
	if got := len(sink.seen()); got != len(ids) {
		t.Errorf("%d deliveries of %d events", got, len(ids))
	}
}

func TestB9FiftyCopiesAtOnceAreOneEventAndOneDelivery(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	results := make([]answered, 50)
	var begin, copies sync.WaitGroup
	begin.Add(1)
	for i := range results {
		copies.Go(func() {
			begin.Wait()
			results[i], _ = s.post("github", "one key", `{"same":true}`)
		})
	}
	begin.Done()
	copies.Wait()
	fresh := 0
	for _, a := range results {
		if a.status/100 != 2 || a.receipt.ID != results[0].receipt.ID {
			t.Errorf("answer %d %s, want 2xx and one id", a.status, a.text)
		}
		if !a.receipt.Duplicate {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d answers say that the event is new, want 1", fresh)
	}
	s.awaitState(results[0].receipt.ID, "delivered")
	if events := listAll[shownEvent](s, "/v1/events"); len(events) != 1 || events[0].Duplicates != 49 || len(sink.seen()) != 1 {
		t.Errorf("%d events, %d deliveries, want one of each and 49 duplicates: %+v", len(events), len(sink.seen()), events)
	}
}

func TestB10ARepeatRevivesWhatIsDeadAndNothingElse(t *testing.T) {
	t.Parallel()
	refuseFirst := inTurn(400, 200)
	sink := newDownstream(t, func(w http.ResponseWriter, r *http.Request, a arrival) {
		if a.key == "k" {
			refuseFirst(w, r, a)
		}
	})
	s := started(t, sink.url)
	id := s.send("k", "{}")
	if d := s.awaitState(id, "dead"); d.Reason != "rejected" || d.Spent != 1 {
		t.Errorf("dead for %s with %d spent, want rejected and 1", d.Reason, d.Spent)
	}
	a, err := s.post("github", "k", "{}")
	if err != nil || a.status != 200 || a.receipt.ID != id || !a.receipt.Duplicate || !a.receipt.Reopened {
		t.Errorf("the repeat is answered %d %s, %v; want a duplicate that was reopened", a.status, a.text, err)
	}
	if d := s.awaitState(id, "delivered"); d.Spent != 1 || d.AttemptCount != 2 {
		t.Errorf("%d spent of %d attempts, want a fresh allowance and both attempts kept", d.Spent, d.AttemptCount)
	}
	a, err = s.post("github", "k", "{}")
	if err != nil || !a.receipt.Duplicate || a.receipt.Reopened {
		t.Errorf("a repeat of a delivered event is answered %d %s, %v", a.status, a.text, err)
	}
	last := s.send("after", "{}")
	s.awaitState(last, "delivered")
	if got := len(sink.of(id)); got != 2 {
		t.Errorf("%d requests, want 2: a delivered event is not sent again", got)
	}
}

func TestB10AnOperatorRevivesWhatIsDead(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, inTurn(422, 200))
	s := started(t, sink.url)
	id := s.send("k", "{}")
	s.awaitState(id, "dead")
	path := "/v1/events/" + id + "/deliveries/default/redeliver"
	if status := s.operate(http.MethodPost, path, nil); status != http.StatusAccepted {
		t.Fatalf("redeliver: %d", status)
	}
	s.awaitState(id, "delivered")
	if status := s.operate(http.MethodPost, path, nil); status != http.StatusConflict {
		t.Errorf("redeliver what was delivered: %d, want 409", status)
	}
	if got := len(sink.of(id)); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
}

func TestB12KeysOutliveBodiesAndEndWithTheirWindow(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_RETAIN_DELIVERED=1ms")
	id := s.send("k", "{}")
	s.awaitState(id, "delivered")
	await(t, patience, "the body is gone", func() bool { return s.event(id).BodyGone })
	if again := s.send("k", "{}"); again != id || len(sink.seen()) != 1 {
		t.Errorf("after its body went, the repeat of %s is %s; %d requests", id, again, len(sink.seen()))
	}
	s.stop()
	s.set("WEIR_DEDUPE_WINDOW=1ms")
	s.start()
	again := s.send("k", "{}")
	if again == id {
		t.Fatal("a repeat after the window is still a duplicate")
	}
	// The event itself may be gone as soon as it is delivered.
	await(t, patience, "it is delivered as a new one", func() bool { return len(sink.of(again)) == 1 })
}

func TestB35OddBodiesPassUnchanged(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	bodies := map[string]string{
		"null": "null", "array": "[]", "object": "{}", "empty": "", "number": "42",
		"deep":   strings.Repeat("[", 100_000),
		"long":   `"` + strings.Repeat("a", 1_000_000) + `"`,
		"binary": "\x00\xff\xfe\r\n\x1b",
	}
	for name, body := range bodies {
		s.send(name, body)
	}
	await(t, patience, "all are delivered", func() bool { return len(sink.seen()) == len(bodies) })
	for name, body := range bodies {
		sameBody(t, sink.where(func(a arrival) bool { return a.key == name }), body)
	}
}

func TestB60NothingIsEverLocked(t *testing.T) {
	t.Parallel()
	const senders, each = 64, 32
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_RETAIN_DELIVERED=0s", "WEIR_DESTINATION_DEFAULT_CONCURRENCY=16")
	ctx, done := context.WithCancel(t.Context())
	var watching, sending sync.WaitGroup
	var looked, unwell int
	watching.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			for _, path := range []string{"/v1/events?limit=200", "/v1/destinations", "/v1/deliveries?state=pending"} {
				a, err := s.request(http.MethodGet, path, http.Header{"Authorization": {"Bearer " + blackboxToken}}, nil)
				if looked++; err != nil || a.status != http.StatusOK {
					unwell++
				}
			}
		}
	})
	refused := make([]int, senders)
	for i := range senders {
		sending.Go(func() {
			for j := range each {
				if a, err := s.post("github", fmt.Sprint(i, "-", j), `{"n":1}`); err != nil || a.status != 200 {
					refused[i]++
				}
			}
		})
	}
	sending.Wait()
	await(t, 60*time.Second, "all are delivered", func() bool { return len(sink.seen()) >= senders*each })
	done()
	watching.Wait()
	for i, n := range refused {
		if n > 0 {
			t.Errorf("%d requests of sender %d were refused", n, i)
		}
	}
	if unwell > 0 || looked < 10 {
		t.Errorf("%d of %d looks at the state were not answered 200", unwell, looked)
	}
	if log := s.said.String(); strings.Contains(log, "locked") || strings.Contains(log, "SQLITE_BUSY") || strings.Contains(log, `"ERROR"`) {
		t.Error("the log tells of locks or errors")
	}
}

func TestB72SlashesNeverRedirect(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	for path, want := range map[string]int{
		"/hooks/github": 200, "/hooks/github/": 200, "/hooks/github?a=b&c": 200, "/hooks/github/?x=1": 200,
		"//hooks/github": 404, "/hooks//github": 404, "/hooks/github//": 404, "/Hooks/github": 404, "/hooks/GitHub": 404,
		"/hooks/nobody": 404, "//hooks//github/": 404, "/./hooks/github": 404, "/x/../hooks/github": 404, "/hooks": 404, "//hooks": 404,
	} {
		a, err := s.request(http.MethodPost, path, githubHeader(path, []byte("{}")), []byte("{}"))
		if err != nil || a.status != want {
			t.Errorf("POST %s: %d, %v; want %d", path, a.status, err, want)
		}
	}
	await(t, patience, "the accepted ones are delivered", func() bool { return len(sink.seen()) == 4 })
}

func TestB73TooLargeIsRefusedAndNeverCut(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_MAX_BODY=64KiB")
	for size, want := range map[int]int{limit: 200, limit + 1: 413, 10 * limit: 413} {
		body := strings.Repeat("x", size)
		a, err := s.post("github", strconv.Itoa(size), body)
		if err != nil || a.status != want {
			t.Errorf("%d bytes: %d, %v; want %d", size, a.status, err, want)
		}
	}
	head, _, _ := strings.Cut(onTheWire("head only", strings.Repeat("x", limit+1)), "\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(s.wire(head+"\r\n\r\n")), nil)
	if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a head that declares too much: %v, %v; want 413 before any byte of the body", answer, err)
	}
	await(t, patience, "the one that fits is delivered", func() bool { return len(sink.seen()) == 1 })
	if got := sink.seen()[0].digest; got != sha256.Sum256([]byte(strings.Repeat("x", limit))) {
		t.Error("what was stored is not what was sent")
	}
	if events := listAll[shownEvent](s, "/v1/events"); len(events) != 1 {
		t.Errorf("%d events are stored, want 1", len(events))
	}
	type shownSource struct {
		Name    string
		Results map[string]int
	}
	var shown struct{ Items []shownSource }
	s.show("/v1/sources", &shown)
	for _, source := range shown.Items {
		if source.Name == "github" && source.Results["too_large"] != 3 {
			t.Errorf("too_large is counted %d times, want 3: %v", source.Results["too_large"], source.Results)
		}
	}
}

func TestB73AMebibytePassesByDefault(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	body := strings.Repeat("y", 1<<20)
	id := s.send("k", body)
	s.awaitState(id, "delivered")
	sameBody(t, sink.of(id), body)
}
