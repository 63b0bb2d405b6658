package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// dialFrom connects to the service from another loopback address.
func (s *service) dialFrom(from string) net.Conn {
	s.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	conn, err := dialer.DialContext(s.t.Context(), "tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// clientFrom returns a client at another loopback address.
func clientFrom(from string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
}

// holdBody sends a request whose body stops one step before its end, and returns
// its connection.
func (s *service) holdBody(from string, chunked bool) net.Conn {
	conn := s.dialFrom(from)
	head := "POST /hooks/github HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
	var request bytes.Buffer
	body := bytes.Repeat([]byte("x"), 1<<20-1)
	if chunked {
		fmt.Fprintf(&request, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n1\r\nx\r\n", head, len(body), body)
	} else {
		fmt.Fprintf(&request, "%sContent-Length: %d\r\n\r\n%s", head, 1<<20, body)
	}
	// What is refused is not read to its end: then the write is broken off.
	_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	_, _ = conn.Write(request.Bytes())
	return conn
}

// TestHeldBodiesKeepNoSenderOut: a stranger's bodies that never end take no room
// of a sender from elsewhere.
func TestHeldBodiesKeepNoSenderOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chunked   bool
		addresses int
	}{
		"chunked, one address": {true, 1}, "chunked, six addresses": {true, 6},
		"sized, one address": {false, 1}, "sized, six addresses": {false, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := started(t, newDownstream(t, answers(200)).url)
			for i := range 48 {
				s.holdBody(fmt.Sprintf("127.0.0.%d", 10+i%c.addresses), c.chunked)
			}
			client := clientFrom("127.0.0.99")
			for i := range 10 {
				body := fmt.Sprintf(`{"n":%d}`, i)
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+"/hooks/github", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				request.Header = githubHeader(fmt.Sprint("k", i), []byte(body))
				begun := time.Now()
				answer, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if took := time.Since(begun); answer.StatusCode != 200 || took > time.Second {
					t.Errorf("signed event %d: %d after %s, want 200 within 1 s", i, answer.StatusCode, took)
				}
			}
		})
	}
}

// TestABodyMustMakeProgress: one that is held back ends long before the time that
// a whole body may take.
func TestABodyMustMakeProgress(t *testing.T) {
	t.Parallel()
	s := started(t, newDownstream(t, answers(200)).url)
	conn := s.holdBody("127.0.0.10", true)
	begun := time.Now()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	answer := make([]byte, 1024)
	n, _ := conn.Read(answer)
	if took := time.Since(begun); !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 400 ") || took > 12*time.Second {
		t.Errorf("answered %q after %s", answer[:min(n, 40)], took)
	}
}

// TestJunkFromTheSameAddressRefusesNoSignedEvent: a proxy that does not say for
// whom it asks brings both.
func TestJunkFromTheSameAddressRefusesNoSignedEvent(t *testing.T) {
	t.Parallel()
	s := started(t, newDownstream(t, answers(200)).url)
	throttled := 0
	for i := range 60 {
		a, err := s.request(http.MethodPost, "/hooks/github", http.Header{"X-Hub-Signature-256": {"sha256=" + strings.Repeat("0", 64)}}, []byte("junk"))
		if err != nil {
			t.Fatal(err)
		}
		switch a.status {
		case 429:
			throttled++
		case 401:
		default:
			t.Errorf("junk %d is answered %d", i, a.status)
		}
	}
	if throttled < 25 {
		t.Errorf("%d of 60 are throttled, want those over 30", throttled)
	}
	s.send("signed", "{}")
	if status := s.operate(http.MethodGet, "/v1/events", nil); status != 200 {
		t.Errorf("the operator's valid token is answered %d", status)
	}
}
