package e2e

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"text/tabwriter"
	"time"
)

// The bounds of the measurements. BENCH_SECONDS and BENCH_STORED change two.
const (
	benchSenders = 64
	benchWorkers = 32 // of deliveries, and of the bare client
	// benchRamp is how long a destination's rate grows after a start.
	benchRamp = 16 * time.Second
	slowSync  = 4 * time.Millisecond
)

// BenchmarkSpeed prints the table of "make bench": rates, and their ratios to
// servers and clients that do nothing else, measured in the same run. It has
// no gates: machines differ, and CI is no place to measure. Run it with
// -benchtime 1x.
func BenchmarkSpeed(b *testing.B) {
	for b.Loop() {
		s := speed{workshop: newWorkshop(b), length: benchSetting(b, "BENCH_SECONDS", 5), table: tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)}
		fmt.Fprintln(s.table, "\nwhat\tmeasured\tratio\taim")
		s.intake(b)
		s.slowIntake(b)
		s.steady(b)
		s.delivery(b)
		s.both(b)
		if err := s.table.Flush(); err != nil {
			b.Fatal(err)
		}
	}
}

// benchSetting reads a whole number of seconds.
func benchSetting(b *testing.B, name string, otherwise int) time.Duration {
	b.Helper()
	if text := os.Getenv(name); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			b.Fatalf("%s: want a whole number from 1", name)
		}
		otherwise = n
	}
	return time.Duration(otherwise) * time.Second
}

// speed is one run of all measurements.
type speed struct {
	workshop
	length time.Duration
	table  *tabwriter.Writer
	// bare is the rate of the server that only reads and answers, full that of
	// deliveries from a store of BENCH_STORED events.
	bare, full float64
}

// row prints a rate; base 0 is no ratio.
func (s *speed) row(what string, rate, base float64, aim string) {
	ratio := ""
	if base > 0 {
		ratio = fmt.Sprintf("%.2f", rate/base)
	}
	fmt.Fprintf(s.table, "%s\t%.0f/s\t%s\t%s\n", what, rate, ratio, aim)
}

// say prints a figure that has no ratio.
func (s *speed) say(what, figure, aim string) {
	fmt.Fprintf(s.table, "%s\t%s\t\t%s\n", what, figure, aim)
}

// crowd measures as many events as the senders can send.
func (s *speed) crowd(b *testing.B, p *measuredProcess) measured {
	b.Helper()
	m := load{url: p.url, secret: benchSecret, senders: benchSenders, length: s.length}.run(b)
	if m.refused > 0 {
		b.Errorf("%d of %d requests to %s were refused", m.refused, m.refused+m.accepted, p.url)
	}
	return m
}

// baselineRate starts one of the baselines, measures it and ends it.
func (s *speed) baselineRate(b *testing.B, name string, environ ...string) float64 {
	b.Helper()
	p := s.startBaseline(b, name, environ...)
	defer p.stop()
	return s.crowd(b, p).perSecond()
}

// paused starts weir with its destination paused: only intake is measured.
func (s *speed) paused(b *testing.B, environ ...string) *measuredProcess {
	b.Helper()
	return s.pausedBefore(b, newSink(b), environ...)
}

func (s *speed) pausedBefore(b *testing.B, downstream *sink, environ ...string) *measuredProcess {
	b.Helper()
	p := s.startWeir(b, downstream.url, environ...)
	p.operate(b, "/v1/destinations/default/pause")
	return p
}

func (s *speed) intake(b *testing.B) {
	b.Helper()
	s.bare = s.baselineRate(b, "bare")
	commit := s.baselineRate(b, "commit")
	downstream := newSink(b)
	p := s.pausedBefore(b, downstream)
	defer p.stop()
	s.say("memory, idle", fmt.Sprintf("%.0f MB", p.megabytes(b, "VmRSS")), "16 MB")
	weir := s.crowd(b, p)
	s.row("bare handler", s.bare, 0, "")
	s.row("one commit per event", commit, 0, "")
	s.row("intake, to bare", weir.perSecond(), s.bare, "0.4")
	s.row("intake, to one commit per event", weir.perSecond(), commit, "5")
	s.say("memory, highest in intake", fmt.Sprintf("%.0f MB", p.megabytes(b, "VmHWM")), "40 MB")
	stored := int(benchSetting(b, "BENCH_STORED", 1_000_000) / time.Second)
	load{url: p.url, secret: benchSecret, senders: benchSenders, events: stored}.run(b)
	s.fullIntake(b, p)
	p.operate(b, "/v1/destinations/default/resume")
	<-time.After(benchRamp)
	s.full = downstream.rate(s.length)
}

// fullIntake compares the intake of a full store with that of empty ones, in
// turns, because machines are faster at some times than at others.
func (s *speed) fullIntake(b *testing.B, p *measuredProcess) {
	b.Helper()
	const turns = 3
	var full, empty float64
	for range turns {
		fresh := s.paused(b)
		empty += s.crowd(b, fresh).perSecond()
		fresh.stop()
		full += s.crowd(b, p).perSecond()
	}
	s.row("intake, full store to empty", full/turns, empty/turns, "0.8")
}

func (s *speed) slowIntake(b *testing.B) {
	b.Helper()
	commit := s.baselineRate(b, "commit", s.slow(slowSync)...)
	p := s.paused(b, s.slow(slowSync)...)
	defer p.stop()
	weir := s.crowd(b, p)
	s.row("with slow syncs, to one commit per event", weir.perSecond(), commit, "20")
	s.say("with slow syncs, p99", weir.percentile(99).Round(10*time.Microsecond).String(), "50ms")
}

func (s *speed) steady(b *testing.B) {
	b.Helper()
	p := s.paused(b)
	defer p.stop()
	m := load{url: p.url, secret: benchSecret, senders: benchSenders, rate: 500, length: s.length}.run(b)
	s.say("at 500 a second, p50", m.percentile(50).Round(10*time.Microsecond).String(), "")
	s.say("at 500 a second, p99", m.percentile(99).Round(10*time.Microsecond).String(), "5ms")
}

// delivery measures how fast a backlog leaves once the ramp is over.
func (s *speed) delivery(b *testing.B) {
	b.Helper()
	downstream := newSink(b)
	client := downstream.bareClient(b, s.length, benchWorkers)
	p := s.startWeir(b, downstream.url)
	defer p.stop()
	p.operate(b, "/v1/destinations/default/pause")
	// The ramp doubles each second: all of it takes two seconds' worth of the
	// rate that it ends at, and about two more pass at that rate.
	backlog := int(client * (s.length.Seconds() + 4))
	load{url: p.url, secret: benchSecret, senders: benchSenders, events: backlog}.run(b)
	p.operate(b, "/v1/destinations/default/resume")
	<-time.After(benchRamp)
	rate := downstream.rate(s.length)
	s.row("delivery, to a bare client loop", rate, client, "0.5")
	s.row("delivery, full store to empty", s.full, rate, "0.8")
}

// both measures receiving and delivering at the same time.
func (s *speed) both(b *testing.B) {
	b.Helper()
	downstream := newSink(b)
	p := s.startWeir(b, downstream.url)
	defer p.stop()
	load{url: p.url, secret: benchSecret, senders: benchSenders, rate: 500, length: benchRamp}.run(b)
	before, start := downstream.n.Load(), time.Now()
	received := s.crowd(b, p).accepted
	// What was received counts when it is delivered as well.
	delivered := func() bool { return downstream.n.Load()-before >= int64(received) }
	if !eventually(b, 2*time.Minute, delivered) {
		b.Errorf("%d received and %d delivered after two minutes", received, downstream.n.Load()-before)
	}
	s.row("received and delivered, to bare", float64(received)/time.Since(start).Seconds(), s.bare, "0.2")
	s.say("memory, highest in both", fmt.Sprintf("%.0f MB", p.megabytes(b, "VmHWM")), "160 MB")
}
