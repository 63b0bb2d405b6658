package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// shaped writes a signed webhook with lines of its own in its head, and bytes
// of its own behind it.
func shaped(key, signs, target string, lines []string, bytes string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s HTTP/1.1\r\nHost: hooks.example.com\r\n", target)
	_ = githubHeader(key, []byte(signs)).Write(&text)
	for _, line := range lines {
		text.WriteString(line + "\r\n")
	}
	return text.String() + "\r\n" + bytes
}

// status reads the answer on a connection; 0 is none.
func status(conn net.Conn) int {
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0
	}
	return answer.StatusCode
}

func TestShapesOfRequestsOnTheWire(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_REFUSED_RATE=1000/1m")
	const post, body = "POST /hooks/github", `{"a":1}`
	const chunks = "3\r\n{\"a\r\n4;name=value\r\n\":1}\r\n0\r\n"
	signature := "X-Hub-Signature-256: " + githubHeader("", []byte(body)).Get("X-Hub-Signature-256")
	for i, test := range []struct {
		rule, target string
		lines        []string
		bytes        string
		want         int
	}{
		{"a length", post, []string{"Content-Length: 7"}, body, 200},
		{"chunks", post, []string{"Transfer-Encoding: chunked"}, chunks + "\r\n", 200},
		{"chunks with trailers", post, []string{"Transfer-Encoding: chunked", "Trailer: X-Sum"}, chunks + "X-Sum: 1\r\n\r\n", 200},
		{"both lengths: the chunks count", post, []string{"Content-Length: 3", "Transfer-Encoding: chunked"}, chunks + "\r\n", 200},
		{"a trailer does not sign", post, []string{"Transfer-Encoding: chunked", "Trailer: X-Hub-Signature-256"}, "1\r\n{\r\n0\r\n" + signature + "\r\n\r\n", 401},
		{"two lengths that differ", post, []string{"Content-Length: 7", "Content-Length: 8"}, body + "x", 400},
		{"a length that is none", post, []string{"Content-Length: +7"}, body, 400},
		{"an unknown transfer encoding", post, []string{"Transfer-Encoding: gzip"}, body, 501},
		{"broken chunks", post, []string{"Transfer-Encoding: chunked"}, "x\r\n" + body, 400},
		{"no length is no body", post, nil, "", 401},
		{"a doubled signature", post, []string{"Content-Length: 7", signature}, body, 400},
		{"a doubled id", post, []string{"Content-Length: 7", "X-GitHub-Delivery: another"}, body, 400},
		{"the same header twice, of no meaning", post, []string{"Content-Length: 7", "X-Odd: 1", "X-Odd: 2"}, body, 200},
		{"odd bytes in a value", post, []string{"Content-Length: 7", "X-Odd: \xff\xfe\t\xc3\xa9"}, body, 200},
		{"a space before the colon", post, []string{"Content-Length : 7"}, body, 400},
		{"a NUL in a value", post, []string{"Content-Length: 7", "X-Odd: a\x00b"}, body, 400},
		{"the last of a connection", post, []string{"Content-Length: 7", "Connection: close"}, body, 200},
		{"a look", "GET /hooks/github", nil, "", 200},
		{"another method", "DELETE /hooks/github", nil, "", 405},
		{"a method of nobody", "BREW /hooks/github", nil, "", 405},
		{"an absolute target", "POST http://elsewhere.example/hooks/github", []string{"Content-Length: 7"}, body, 200},
		{"a path for a name", "POST /hooks/..%2f..%2fv1%2fevents", []string{"Content-Length: 7"}, body, 404},
		{"dots for a name", "POST /hooks/%2e%2e/v1/events", []string{"Content-Length: 7"}, body, 404},
		{"a NUL in a name", "POST /hooks/github%00", []string{"Content-Length: 7"}, body, 404},
		{"a slash in a name", "POST /hooks/github%2f", []string{"Content-Length: 7"}, body, 404},
		{"a line break in a name", "POST /hooks/github%0d%0aX-Odd:1", []string{"Content-Length: 7"}, body, 404},
		{"a backslash in a name", `POST /hooks/..\github`, []string{"Content-Length: 7"}, body, 404},
		{"a broken escape", "POST /hooks/%zz", []string{"Content-Length: 7"}, body, 400},
		{"a long name", "POST /hooks/" + strings.Repeat("a", 5000), []string{"Content-Length: 7"}, body, 404},
		{"a header of 2 MiB", post, []string{"Content-Length: 7", "X-Odd: " + strings.Repeat("a", 2<<20)}, "", 431},
	} {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, shaped(fmt.Sprint("shape-", i), body, test.target, test.lines, test.bytes))
		if got := status(conn); got != test.want {
			t.Errorf("%s: %d, want %d", test.rule, got, test.want)
		}
		conn.Close()
	}
	accepted := listAll[shownEvent](s, "/v1/events")
	await(t, patience, "the accepted ones are delivered", func() bool { return len(sink.seen()) == len(accepted) })
	sameBody(t, sink.seen(), body)
	for _, a := range sink.seen() {
		if a.header.Get("X-Sum") != "" || a.header.Get("Trailer") != "" {
			t.Errorf("a trailer is forwarded: %v", a.header)
		}
	}
}

func TestHalfABodyIsNotStoredAndMayBeSentAgain(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	whole := onTheWire("half", strings.Repeat("h", 1000))
	conn := s.wire(whole[:len(whole)-500]).(*net.TCPConn)
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := status(conn); got != http.StatusBadRequest {
		t.Errorf("half a body: %d, want 400", got)
	}
	a, err := s.post("github", "half", strings.Repeat("h", 1000))
	if err != nil || a.status != 200 || a.receipt.Duplicate {
		t.Errorf("sent again: %d %s, %v", a.status, a.text, err)
	}
}

// TestB73TheRefusalIsReadableWhileSending by clients that read nothing
// before everything is written.
func TestB73TheRefusalIsReadableWhileSending(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_MAX_BODY=64KiB", "WEIR_REFUSED_RATE=1000/1m")
	big := strings.Repeat("z", 6<<20)
	for rule, request := range map[string]struct {
		text string
		want int
	}{
		"a declared length":  {onTheWire("big", big), 413},
		"chunks":             {shaped("big", big, "POST /hooks/github", []string{"Transfer-Encoding: chunked"}, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(big), big)), 413},
		"no such source":     {strings.Replace(onTheWire("big", big), "/hooks/github", "/hooks/nobody", 1), 404},
		"of 1 MiB":           {onTheWire("big", big[:1<<20]), 413},
		"a client that asks": {shaped("big", big, "POST /hooks/github", []string{"Expect: 100-continue", fmt.Sprint("Content-Length: ", len(big))}, ""), 413},
	} {
		if got := status(s.wire(request.text)); got != request.want {
			t.Errorf("%s: %d, want %d", rule, got, request.want)
		}
	}
	asks := s.wire(shaped("asked", "{}", "POST /hooks/github", []string{"Expect: 100-continue", "Content-Length: 2"}, ""))
	line, err := bufio.NewReaderSize(asks, 16).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Errorf("a client that asks whether to send hears %q, %v", line, err)
	}
}

func TestTheLargestBodyPassesWhereItIsAllowed(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_MAX_BODY=25MiB")
	body := strings.Repeat("0123456789abcdef", 25<<20/16)
	id := s.send("largest", body)
	s.awaitState(id, "delivered")
	sameBody(t, sink.of(id), body)
	if a, err := s.post("github", "larger", body+"x"); err != nil || a.status != 413 {
		t.Errorf("a byte more: %d, %v", a.status, err)
	}
}
