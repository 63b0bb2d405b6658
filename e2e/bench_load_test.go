package e2e

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// load is a crowd of senders of signed events of 1 KiB, each with a connection
// that it keeps.
type load struct {
	url     string
	secret  string
	senders int
	// rate is the sum of all senders' requests a second; 0 is as fast as
	// they can.
	rate int
	// events ends the load after so many; 0 leaves it to length.
	events int
	length time.Duration
}

// measured is what a load saw.
type measured struct {
	accepted int
	refused  int
	took     time.Duration
	// waits are the times from a request to its answer, shortest first.
	waits []time.Duration
}

// perSecond returns the accepted events a second.
func (m measured) perSecond() float64 { return float64(m.accepted) / m.took.Seconds() }

// percentile returns the wait that p of 100 requests did not exceed.
func (m measured) percentile(p int) time.Duration {
	if len(m.waits) == 0 {
		return 0
	}
	return m.waits[(len(m.waits)-1)*p/100]
}

// run sends and returns what was seen. A sender that loses its connection is a
// fault of the measurement.
func (l load) run(b *testing.B) measured {
	b.Helper()
	results := make([]measured, l.senders)
	faults := make([]error, l.senders)
	start := time.Now()
	var running sync.WaitGroup
	for i := range l.senders {
		running.Go(func() { results[i], faults[i] = l.send(i, start) })
	}
	running.Wait()
	total := measured{took: time.Since(start)}
	for i, result := range results {
		if faults[i] != nil {
			b.Fatalf("sender %d: %v", i, faults[i])
		}
		total.accepted += result.accepted
		total.refused += result.refused
		total.waits = append(total.waits, result.waits...)
	}
	slices.Sort(total.waits)
	return total
}

// send is one sender.
func (l load) send(number int, start time.Time) (measured, error) {
	var result measured
	host := strings.TrimPrefix(l.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return result, err
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for i := 0; l.goesOn(i, start); i++ {
		l.keepPace(i, number, start)
		request := l.request(host, fmt.Sprintf("%d-%d-%d", start.UnixNano(), number, i))
		begun := time.Now()
		if _, err := conn.Write(request); err != nil {
			return result, err
		}
		status, err := readAnswer(answers)
		if err != nil {
			return result, err
		}
		result.waits = append(result.waits, time.Since(begun))
		if status == http.StatusOK {
			result.accepted++
		} else {
			result.refused++
		}
	}
	return result, nil
}

// goesOn reports whether a sender's request i is still part of the load.
func (l load) goesOn(i int, start time.Time) bool {
	if l.events > 0 {
		return i < l.events/l.senders
	}
	return time.Since(start) < l.length
}

// keepPace waits for the time of a sender's request i, so that the senders'
// requests are spread evenly.
func (l load) keepPace(i, number int, start time.Time) {
	if l.rate == 0 {
		return
	}
	slot := time.Duration(i*l.senders+number) * time.Second / time.Duration(l.rate)
	<-time.After(time.Until(start.Add(slot)))
}

// request makes the bytes of a signed request with a key of its own.
func (l load) request(host, key string) []byte {
	const size = 1024
	body := `{"action":"opened","delivery":"` + key + `","text":"`
	body += strings.Repeat("x", size-len(body)-2) + `"}`
	mac := hmac.New(sha256.New, []byte(l.secret))
	io.WriteString(mac, body)
	return fmt.Appendf(nil, "POST /hooks/github HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"User-Agent: GitHub-Hookshot/bench\r\nX-GitHub-Event: issues\r\nX-GitHub-Delivery: %s\r\n"+
		"X-Hub-Signature-256: sha256=%s\r\nContent-Length: %d\r\n\r\n%s",
		host, key, hex.EncodeToString(mac.Sum(nil)), len(body), body)
}

// readAnswer reads one answer to its end.
func readAnswer(from *bufio.Reader) (int, error) {
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}
