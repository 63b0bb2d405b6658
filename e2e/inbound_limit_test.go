package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// behindAProxy are the settings under which the peer, this test, may say who
// the client is.
const behindAProxy = "WEIR_TRUSTED_PROXIES=127.0.0.0/8,10.0.0.0/8,::1"

// junk sends a request with a wrong signature and returns its status.
func (s *service) junk(source string, header http.Header) int {
	s.t.Helper()
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
	a, err := s.request(http.MethodPost, "/hooks/"+source, header, []byte("{}"))
	if err != nil {
		s.t.Fatal(err)
	}
	return a.status
}

// untilThrottled sends junk until it is answered 429, and returns how many
// were answered 401 before.
func (s *service) untilThrottled(most int, client func(i int) http.Header) int {
	s.t.Helper()
	for i := range most {
		switch status := s.junk("github", client(i)); status {
		case http.StatusUnauthorized:
		case http.StatusTooManyRequests:
			return i
		default:
			s.t.Fatalf("junk is answered %d", status)
		}
	}
	return most
}

// lies are forwarding headers as a client makes them up, in front of what the
// proxy has added.
func lies(i int, added string) http.Header {
	forged := fmt.Sprintf("203.0.113.%d", i%250)
	return http.Header{
		"X-Forwarded-For": {strings.TrimSuffix(forged+", "+added, ", ")}, "X-Real-Ip": {forged}, "True-Client-Ip": {forged},
	}
}

func TestB52TheClientsAddressIsNotTakenFromWhatAClientSays(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	for _, test := range []struct {
		rule     string
		settings []string
		client   func(i int) http.Header
		want     int
	}{
		{"the peer counts", nil, func(int) http.Header { return nil }, 5},
		{"behind a trusted proxy the right-most counts", []string{behindAProxy}, func(i int) http.Header { return lies(i, "198.51.100.7") }, 5},
		{"behind two trusted proxies too", []string{behindAProxy}, func(i int) http.Header { return lies(i, "198.51.100.7, 10.1.2.3") }, 5},
		{"clients of a trusted proxy are told apart", []string{behindAProxy}, func(i int) http.Header { return lies(0, fmt.Sprint("198.51.100.", i)) }, 20},
		{"clients in one /64 are one", []string{behindAProxy}, func(i int) http.Header { return lies(i, fmt.Sprintf("2001:db8::%x", i+1)) }, 5},
		{
			"the host's header counts, where it is set", []string{"WEIR_CLIENT_IP_HEADER=Fly-Client-IP"},
			func(i int) http.Header {
				header := lies(i, "")
				header["Fly-Client-Ip"] = []string{"198.51.100.8"}
				return header
			}, 5,
		},
		{"behind an unknown proxy nobody is silenced", nil, func(i int) http.Header { return lies(i, "") }, 20},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()
			s := started(t, sink.url, append(test.settings, "WEIR_REFUSED_RATE=5/1m")...)
			if got := s.untilThrottled(20, test.client); got != test.want {
				t.Errorf("429 after %d refusals, want %d", got, test.want)
			}
			hinted := strings.Contains(s.said.String(), "through a proxy that is not trusted")
			if untold := test.want == 20 && len(test.settings) == 0; hinted != untold {
				t.Errorf("the hint in the log: %t, want %t", hinted, untold)
			}
		})
	}
}

func TestB54WhoeverIsTooFastIsToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_SOURCES=github,other", "WEIR_SOURCE_GITHUB_RATE=10/1m",
		"WEIR_SOURCE_OTHER_SCHEME=github", "WEIR_SOURCE_OTHER_SECRET="+blackboxSecret)
	began := time.Now()
	for i := range 10 {
		if a, err := s.post("github", fmt.Sprint(i), "{}"); err != nil || a.status != 200 || a.header.Get("Retry-After") != "" {
			t.Errorf("event %d: %d, %v, Retry-After %q", i, a.status, err, a.header.Get("Retry-After"))
		}
	}
	a, err := s.post("github", "eleventh", "{}")
	if err != nil || a.status != http.StatusTooManyRequests || a.header.Get("RateLimit") == "" || a.header.Get("RateLimit-Policy") == "" {
		t.Fatalf("the eleventh: %d, %v\n%v", a.status, err, a.header)
	}
	wait, err := strconv.Atoi(a.header.Get("Retry-After"))
	if from := began.Add(time.Minute); err != nil || time.Now().Add(time.Duration(wait)*time.Second).Before(from) || wait < 1 || wait > 61 {
		t.Errorf("Retry-After %q; the first counts until %s", a.header.Get("Retry-After"), from)
	}
	if a, err = s.post("github", "3", "{}"); err != nil || !a.receipt.Duplicate {
		t.Errorf("a repeat of what is stored: %d, %v", a.status, err)
	}
	if a, err = s.post("other", "eleventh", "{}"); err != nil || a.status != 200 {
		t.Errorf("another source: %d, %v", a.status, err)
	}
	if got := s.counted(intakeOf("github", "throttled")); got != 1 {
		t.Errorf("%d are counted as throttled, want 1", got)
	}
}

// TestB55JunkFromAStrangerSilencesNobody, nor do paths that a scanner tries.
func TestB55JunkFromAStrangerSilencesNobody(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, behindAProxy)
	stranger, honest := http.Header{"X-Forwarded-For": {"203.0.113.66"}}, "198.51.100.20"
	var flood sync.WaitGroup
	statuses := make([]map[int]int, 4)
	for i := range statuses {
		statuses[i] = map[int]int{}
		flood.Go(func() {
			for range 125 {
				statuses[i][s.junk([]string{"github", "admin.php"}[i%2], stranger)]++
			}
		})
	}
	for i := range 50 {
		header := githubHeader(fmt.Sprint("honest-", i), []byte("{}"))
		header.Set("X-Forwarded-For", honest)
		if a, err := s.request(http.MethodPost, "/hooks/github", header, []byte("{}")); err != nil || a.status != 200 {
			t.Errorf("event %d of an honest sender: %d, %v", i, a.status, err)
		}
	}
	flood.Wait()
	refused, unread := 0, 0
	for _, one := range statuses {
		refused, unread = refused+one[401]+one[404], unread+one[429]
	}
	if refused < 30 || refused > 34 || refused+unread != 500 {
		t.Errorf("%d refused and %d unread of 500", refused, unread)
	}
	header := http.Header{"X-Forwarded-For": {honest}}
	if got := s.untilThrottled(40, func(int) http.Header { return header }); got != 40 {
		t.Errorf("who sent a verified event is silenced after %d refusals", got)
	}
	await(t, patience, "all are delivered", func() bool { return len(sink.seen()) == 50 })
}

// TestB74SlowSendersHoldNothingUp: while many connections stand still in their
// head or their body, others are served; the heads end by themselves.
func TestB74SlowSendersHoldNothingUp(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	var heads []net.Conn
	for i := range 40 {
		heads = append(heads, s.wire("POST /hooks/github HTTP/1.1\r\nHost: h\r\nX-Slow: "))
		body := onTheWire(fmt.Sprint("slow-", i), strings.Repeat("x", 5000))
		s.wire(body[:len(body)-4990])
	}
	for i := range 50 {
		s.send(fmt.Sprint("normal-", i), "{}")
	}
	for _, conn := range heads {
		_ = conn.SetReadDeadline(time.Now().Add(2 * patience))
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("a head may take for ever")
		}
	}
	s.send("later", "{}")
	await(t, patience, "all are delivered", func() bool { return len(sink.seen()) == 51 })
	if got := s.counted("weir_intake_inflight_bytes"); got > 40*5000 {
		t.Errorf("%d bytes are held for slow bodies", got)
	}
}
