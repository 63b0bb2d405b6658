package flaky

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reply is an [Answer] to one request.
type reply struct {
	Answer
	latency time.Duration
	fill    *strings.Replacer
}

// errBroken says that the script broke the answer on purpose.
var errBroken = errors.New("broken by the script")

// filling puts the figures of a request into a text.
func filling(a arrival, f figures, event string) *strings.Replacer {
	seconds := int64((f.wait + time.Second - 1) / time.Second)
	// The moment is rounded up as well: HTTP dates and Unix times are whole
	// seconds, and a client that obeys must not come too early.
	reset := a.at.Add(f.wait + time.Second - 1).Truncate(time.Second).UTC()
	return strings.NewReplacer(
		"{retry_after}", strconv.FormatInt(seconds, 10),
		"{wait}", f.wait.String(),
		"{retry_date}", reset.Format(http.TimeFormat),
		"{reset_unix}", strconv.FormatInt(reset.Unix(), 10),
		"{limit}", strconv.FormatInt(f.limit, 10),
		"{used}", strconv.FormatInt(f.used, 10),
		"{requested}", strconv.FormatInt(f.requested, 10),
		"{size}", strconv.FormatInt(a.size, 10),
		"{number}", strconv.Itoa(a.number),
		"{event}", event,
	)
}

func (a reply) status() int {
	switch {
	case a.Fault == FaultHang, a.Fault == FaultReset, a.Fault == FaultClose:
		return 0
	case a.Status == 0:
		return http.StatusOK
	}
	return a.Status
}

// write gives the answer. The error says that it did not arrive whole: the
// client left, or the script broke it.
func (a reply) write(w http.ResponseWriter, r *http.Request, received []byte) error {
	if err := wait(r.Context(), a.latency+time.Duration(a.Delay)); err != nil {
		panic(http.ErrAbortHandler)
	}
	if a.Fault == FaultHang {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	if a.Fault == FaultReset || a.Fault == FaultClose || a.Fault == FaultSlowHeaders {
		return a.takeOver(w, r)
	}
	a.head(w.Header())
	body := a.text(received)
	if a.Fault == FaultHalf {
		w.Header().Set("Content-Length", strconv.Itoa(2*len(body)+1024))
	}
	w.WriteHeader(a.status())
	if err := a.send(w, r, body); err != nil {
		return err
	}
	if a.Fault == FaultHalf {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	return nil
}

// head sets the header fields.
func (a reply) head(header http.Header) {
	for name, value := range a.Headers {
		header.Set(name, a.fill.Replace(value))
	}
}

func (a reply) text(received []byte) []byte {
	if a.Echo {
		return received
	}
	return []byte(a.fill.Replace(a.Body))
}

// send writes the body, trickling where the script says so, and the padding.
func (a reply) send(w http.ResponseWriter, r *http.Request, body []byte) error {
	whole := io.MultiReader(bytes.NewReader(body), io.LimitReader(spaces{}, a.Pad))
	if a.Trickle == 0 {
		_, err := io.Copy(w, whole)
		if errors.Is(err, http.ErrBodyNotAllowed) {
			// To HEAD and under 204 and 304 the head is the whole answer.
			return nil
		}
		return err
	}
	flush := http.NewResponseController(w).Flush
	return a.trickle(r.Context(), whole, func(letter []byte) error {
		if _, err := w.Write(letter); err != nil {
			return err
		}
		return flush()
	})
}

// trickle hands over byte by byte, each followed by the gap.
func (a reply) trickle(ctx context.Context, from io.Reader, to func([]byte) error) error {
	gap := time.Duration(a.Trickle)
	if gap == 0 {
		gap = time.Second
	}
	letter := make([]byte, 1)
	for {
		if _, err := io.ReadFull(from, letter); err != nil {
			return nil
		}
		if err := to(letter); err != nil {
			return err
		}
		if err := wait(ctx, gap); err != nil {
			return err
		}
	}
}

// takeOver breaks the answer on the connection itself. A writer that has no
// connection to give is told to abort, which looks the same from the client.
func (a reply) takeOver(w http.ResponseWriter, r *http.Request) error {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	if a.Fault == FaultReset {
		if tcp, ok := conn.(*net.TCPConn); ok {
			// Closing with nothing to linger for sends RST in place of FIN.
			_ = tcp.SetLinger(0)
		}
	}
	if a.Fault == FaultSlowHeaders {
		return a.slowHead(r.Context(), conn)
	}
	return errBroken
}

func (a reply) slowHead(ctx context.Context, conn net.Conn) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "HTTP/1.1 %d %s\r\n", a.status(), http.StatusText(a.status()))
	header := http.Header{"Content-Length": {"0"}, "Connection": {"close"}}
	a.head(header)
	_ = header.Write(&text)
	text.WriteString("\r\n")
	return a.trickle(ctx, &text, func(letter []byte) error {
		_, err := conn.Write(letter)
		return err
	})
}

// wait waits, or returns the context's error when that ends first.
func wait(ctx context.Context, length time.Duration) error {
	if length <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spaces is an endless row of them.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
