package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	benchSecret = "a secret for measuring only"
	benchToken  = "a token for measuring only"
)

// workshop holds what is compiled once for all measurements.
type workshop struct {
	weir     string
	baseline string
	slowSync string
}

// newWorkshop compiles weir, the baselines and the library for slow syncs.
func newWorkshop(b *testing.B) workshop {
	b.Helper()
	folder := b.TempDir()
	w := workshop{
		weir:     filepath.Join(folder, "weir"),
		baseline: filepath.Join(folder, "baseline"),
		slowSync: filepath.Join(folder, "slowsync.so"),
	}
	for _, args := range [][]string{
		{"go", "build", "-o", w.weir, "weir"},
		{"go", "test", "-c", "-o", w.baseline, "./store"},
		{"gcc", "-shared", "-fPIC", "-O1", "-o", w.slowSync, "../testdata/slowsync.c", "-ldl"},
	} {
		if out, err := exec.CommandContext(b.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return w
}

// slow makes the syncs of a process take so much longer.
func (w workshop) slow(length time.Duration) []string {
	return []string{"LD_PRELOAD=" + w.slowSync, "SLOWSYNC_US=" + strconv.FormatInt(length.Microseconds(), 10)}
}

// measuredProcess is a server under measurement.
type measuredProcess struct {
	url     string
	command *exec.Cmd
	// stop ends it and waits. It may be called once.
	stop func()
}

// startBaseline starts the server "bare" or "commit".
func (w workshop) startBaseline(b *testing.B, name string, environ ...string) *measuredProcess {
	b.Helper()
	command := exec.Command(w.baseline)
	command.Env = append(os.Environ(), "BASELINE="+name, "BASELINE_DATABASE="+filepath.Join(b.TempDir(), "baseline.db"))
	command.Env = append(command.Env, environ...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	stop := func() {
		stdin.Close()
		_ = command.Wait()
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		b.Fatalf("baseline %s: %v", name, err)
	}
	return &measuredProcess{url: strings.TrimSpace(line), command: command, stop: stop}
}

// startWeir starts the service with an empty store, and waits until it is
// ready.
func (w workshop) startWeir(b *testing.B, downstream string, environ ...string) *measuredProcess {
	b.Helper()
	address := freeAddress(b)
	command := exec.Command(w.weir, "serve")
	command.Dir = b.TempDir()
	command.Env = append([]string{
		"WEIR_ADDR=" + address, "WEIR_DATABASE=" + filepath.Join(command.Dir, "weir.db"),
		"WEIR_SOURCES=github", "WEIR_SOURCE_GITHUB_SECRET=" + benchSecret, "WEIR_SOURCE_GITHUB_RATE=100000000/1m",
		"WEIR_FORWARD_URL=" + downstream, "WEIR_DESTINATION_DEFAULT_CONCURRENCY=32",
		"WEIR_API_TOKEN=" + benchToken, "WEIR_LOG_LEVEL=error",
	}, environ...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	p := &measuredProcess{url: "http://" + address, command: command, stop: func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			b.Errorf("weir ended with %v\n%s", err, said.String())
		}
	}}
	if !eventually(b, 20*time.Second, p.ready) {
		p.stop()
		b.Fatal("weir does not become ready")
	}
	return p
}

func (p *measuredProcess) ready() bool {
	answer, err := http.Get(p.url + "/readyz")
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// operate asks the operator's interface to do something.
func (p *measuredProcess) operate(b *testing.B, path string) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, p.url+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+benchToken)
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode/100 != 2 {
		b.Fatalf("%s: %d %s", path, answer.StatusCode, text)
	}
}

// megabytes reads a figure of the process's memory: VmRSS now, VmHWM at most.
func (p *measuredProcess) megabytes(b *testing.B, figure string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, figure+":"); found {
			kilobytes, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kilobytes / 1024
		}
	}
	b.Fatalf("no %s", figure)
	return 0
}

// freeAddress returns a loopback address that was free a moment ago.
func freeAddress(b testing.TB) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// sink is a downstream that answers 200 and counts.
type sink struct {
	url string
	n   atomic.Int64
}

// newSink starts one.
func newSink(b *testing.B) *sink {
	b.Helper()
	s := &sink{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.n.Add(1)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	b.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
	s.url = "http://" + listener.Addr().String()
	return s
}

// rate returns the requests a second that the sink counts over a time.
func (s *sink) rate(length time.Duration) float64 {
	before, start := s.n.Load(), time.Now()
	<-time.After(length)
	return float64(s.n.Load()-before) / time.Since(start).Seconds()
}

// bareClient is the rate of a loop that does nothing but post to the sink.
func (s *sink) bareClient(b *testing.B, length time.Duration, workers int) float64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), length)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: workers}
	defer transport.CloseIdleConnections()
	body := strings.Repeat("x", 1024)
	before, start := s.n.Load(), time.Now()
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
				if err != nil {
					return
				}
				if answer, err := transport.RoundTrip(request); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			}
		})
	}
	running.Wait()
	return float64(s.n.Load()-before) / time.Since(start).Seconds()
}

// eventually asks again and again, and reports whether it became true in time.
func eventually(b testing.TB, within time.Duration, condition func() bool) bool {
	b.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); <-tick.C {
		if condition() {
			return true
		}
	}
	return false
}
