package flaky

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The bounds of what a [Server] reads of one request, in bytes.
const (
	// maxRead is how much of a body is read; a larger one counts with this
	// size.
	maxRead = 64 << 20
	// maxEcho is how much of a body is kept for its answer.
	maxEcho = 64 << 10
)

// Server is the scripted downstream, an [http.Handler]. Make it with [New]; it
// may serve any number of requests at once.
type Server struct {
	// Observe, if set before the first request, is called with every request
	// after it has been answered. It is called by many goroutines.
	Observe func(Seen)

	latency time.Duration
	start   time.Time

	// mu guards what follows. Nothing waits and nothing is written while it
	// is held.
	mu    sync.Mutex
	gates []*gate
	dice  *rand.Rand
	book  book
}

// New returns a server whose clock starts now. The error is that of [Parse]
// for values out of bounds.
func New(script Script) (*Server, error) {
	if err := script.check(); err != nil {
		return nil, err
	}
	s := &Server{
		latency: time.Duration(script.Latency),
		start:   time.Now(),
		dice:    rand.New(rand.NewPCG(script.Seed, script.Seed)),
		book:    newBook(),
	}
	for _, rule := range script.Rules {
		s.gates = append(s.gates, newGate(rule))
	}
	return s, nil
}

// ServeHTTP answers as the script says and counts the request. The paths below
// /_flaky/ are not part of the script: they give the counts.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_flaky/") {
		s.serveCounts(w, r)
		return
	}
	seen, body := read(r)
	answer := s.decide(&seen)
	defer func() {
		// Also when the answer ends in http.ErrAbortHandler.
		seen.Took = Duration(time.Since(seen.At))
		s.finish(seen)
	}()
	seen.Answered = answer.write(w, r, body) == nil
}

// read takes in the request and keeps the beginning of its body.
func read(r *http.Request) (Seen, []byte) {
	seen := Seen{
		Path:    r.URL.Path,
		EventID: clip(r.Header.Get("Weir-Event-Id")),
	}
	seen.Attempt, _ = strconv.Atoi(r.Header.Get("Weir-Attempt"))
	digest := sha256.New()
	var head strings.Builder
	limited := io.LimitReader(r.Body, maxRead)
	kept, _ := io.Copy(io.MultiWriter(digest, &head), io.LimitReader(limited, maxEcho))
	// A body that breaks off counts with what came of it.
	rest, _ := io.Copy(digest, limited)
	seen.Size = kept + rest
	seen.SHA256 = hex.EncodeToString(digest.Sum(nil))
	return seen, []byte(head.String())
}

// clip bounds what is kept of an event id.
func clip(text string) string { return text[:min(len(text), 64)] }

// decide counts a request, finds its rule and returns the answer to give.
func (s *Server) decide(seen *Seen) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Under the lock, so that numbers and times have one order.
	seen.At = time.Now()
	number, try := s.book.begin(*seen)
	a := arrival{
		at: seen.At, since: seen.At.Sub(s.start), number: number, try: try,
		path: seen.Path, size: seen.Size, roll: s.dice.Float64,
	}
	rule, f := s.match(a)
	answer := reply{Answer: rule.Answer, latency: s.latency, fill: filling(a, f, seen.EventID)}
	seen.Number, seen.Rule, seen.Status, seen.Fault = number, rule.Name, answer.status(), answer.Fault
	s.book.planned(*seen)
	return answer
}

func (s *Server) match(a arrival) (Rule, figures) {
	for _, g := range s.gates {
		if f, applies := g.applies(a); applies {
			return g.rule, f
		}
	}
	return Rule{}, figures{}
}

func (s *Server) finish(seen Seen) {
	s.mu.Lock()
	s.book.end(seen)
	s.mu.Unlock()
	if s.Observe != nil {
		s.Observe(seen)
	}
}
