package e2e

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/cli"
)

// The tests in the files blackbox_…_test.go start the program as its users do,
// talk to it over sockets, send it signals and read what it leaves behind. Most
// of their time they wait, so that more of them run at once than there are
// processors.
const blackboxParallel = 8

func TestMain(m *testing.M) {
	flag.Parse()
	if !flagGiven("test.parallel") {
		_ = flag.Set("test.parallel", fmt.Sprint(blackboxParallel))
	}
	defer os.RemoveAll(programFolder())
	m.Run()
}

// flagGiven reports whether a flag is on the command line.
func flagGiven(name string) (given bool) {
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// programFolder is where the program under test is built. Other users than the
// one that builds must be able to run it.
func programFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("weir-blackbox-%d", os.Getpid()))
}

// builtWeir builds weir once, with the race detector when the tests have it, and
// returns its path.
var builtWeir = sync.OnceValues(func() (string, error) {
	if raced() {
		return build("weir", "-race")
	}
	return build("weir")
})

// builtPlain is builtWeir without the race detector, which takes several times
// the memory.
var builtPlain = sync.OnceValues(func() (string, error) { return build("weir-plain") })

func build(name string, flags ...string) (string, error) {
	folder := programFolder()
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.Chmod(folder, 0o755)); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	args := slices.Concat([]string{"build", "-buildvcs=false"}, flags, []string{"-o", path, "weir"})
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return path, nil
}

// raced reports whether the tests were built with the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

const (
	blackboxSecret = "It's a Secret to Everybody"
	blackboxToken  = "a token for black boxes"
	// patience is how long a test waits for what should take milliseconds:
	// long enough for a loaded machine, shorter than any loop that would
	// find its work by chance.
	patience = 12 * time.Second
)

// service is weir as a process, which a test may kill and start again: its
// database, its port and its settings stay.
type service struct {
	t        *testing.T
	address  string
	folder   string
	database string
	settings map[string]string
	program  func() (path string, err error)
	// as is the user that the process runs as; nil is the tests' own.
	as *syscall.Credential
	// inherits is a socket that is open before the process begins; nil is none.
	inherits *os.File
	said     *output
	running  *execution
}

// newService prepares a service that sends to a URL, with further settings as
// "NAME=value"; an empty value takes a setting away. It is not started.
func newService(t *testing.T, to string, settings ...string) *service {
	t.Helper()
	folder := t.TempDir()
	s := &service{
		t: t, address: reserveAddress(t), folder: folder, said: &output{},
		database: filepath.Join(folder, "weir.db"), program: builtWeir,
		settings: map[string]string{
			"WEIR_SOURCES": "github", "WEIR_SOURCE_GITHUB_SECRET": blackboxSecret,
			"WEIR_FORWARD_URL": to, "WEIR_API_TOKEN": blackboxToken,
		},
	}
	s.set(settings...)
	t.Cleanup(s.examine)
	return s
}

// started is newService, started.
func started(t *testing.T, to string, settings ...string) *service {
	t.Helper()
	s := newService(t, to, settings...)
	s.start()
	return s
}

// set changes settings before the next start.
func (s *service) set(settings ...string) {
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		s.settings[name] = value
	}
}

// examine ends a service that still runs and looks at what it said: some
// things must never be there.
func (s *service) examine() {
	if s.running != nil {
		s.kill()
	}
	log := s.said.String()
	for _, never := range []string{"DATA RACE", "panic:", blackboxSecret, blackboxToken} {
		if strings.Contains(log, never) {
			s.t.Errorf("the log holds %q", never)
		}
	}
	if s.t.Failed() {
		s.t.Logf("the end of the log:\n%s", log[max(0, len(log)-4000):])
	}
}

// command prepares a run of the program in the service's surroundings.
func (s *service) command(args ...string) *exec.Cmd {
	s.t.Helper()
	path, err := s.program()
	if err != nil {
		s.t.Fatal(err)
	}
	command := exec.Command(path, args...)
	command.Dir = s.folder
	command.Env = []string{"WEIR_ADDR=" + s.address, "WEIR_DATABASE=" + s.database}
	for name, value := range s.settings {
		command.Env = append(command.Env, name+"="+value)
	}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	if s.inherits != nil {
		// LISTEN_PID is that of the process itself, which the shell knows.
		shell := exec.Command("/bin/sh", append([]string{"-c", `LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"`, path}, args...)...)
		shell.Dir, shell.Env, shell.SysProcAttr = command.Dir, command.Env, command.SysProcAttr
		shell.ExtraFiles = []*os.File{s.inherits}
		return shell
	}
	return command
}

// execution is one run of the program.
type execution struct {
	command *exec.Cmd
	waiting sync.WaitGroup
	ended   chan struct{}
}

// run starts the program and returns at once.
func (s *service) run(args ...string) *execution {
	s.t.Helper()
	e := &execution{command: s.command(args...), ended: make(chan struct{})}
	e.command.Stdout, e.command.Stderr = s.said, s.said
	if err := e.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	e.waiting.Go(func() {
		_ = e.command.Wait()
		close(e.ended)
	})
	return e
}

// exit waits until a run ends by itself and returns its exit status.
func (e *execution) exit(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-e.ended:
	case <-time.After(within):
		_ = e.command.Process.Kill()
		t.Errorf("the program still runs after %s", within)
	}
	e.waiting.Wait()
	return e.command.ProcessState.ExitCode()
}

// over reports whether a run has ended.
func (e *execution) over() bool {
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

// start runs the service and waits until it can accept.
func (s *service) start() {
	s.t.Helper()
	s.running = s.run("serve")
	await(s.t, 30*time.Second, "weir is ready, or over", func() bool {
		return s.running.over() || s.ask("/readyz") == 200
	})
	if s.running.over() {
		s.t.Fatalf("weir ended at its start\n%s", s.said)
	}
}

// kill ends the service as a crash would.
func (s *service) kill() {
	s.t.Helper()
	_ = s.running.command.Process.Kill()
	s.running.exit(s.t, patience)
	s.running = nil
}

// signal sends a signal to the service.
func (s *service) signal(signal syscall.Signal) {
	s.t.Helper()
	if err := s.running.command.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// exit waits until the service has ended and returns its exit status.
func (s *service) exit(within time.Duration) int {
	s.t.Helper()
	status := s.running.exit(s.t, within)
	s.running = nil
	return status
}

// stop ends the service in peace.
func (s *service) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if status := s.exit(40 * time.Second); status != cli.ExitStopped {
		s.t.Errorf("exit status %d after SIGTERM, want %d", status, cli.ExitStopped)
	}
}

// call runs another command of the program to its end and returns its exit
// status and what it printed.
func (s *service) call(args ...string) (status int, printed string) {
	s.t.Helper()
	before := s.said
	s.said = &output{}
	status = s.run(args...).exit(s.t, 30*time.Second)
	printed, s.said = s.said.String(), before
	return status, printed
}

// output collects what a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns everything so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// reserveAddress finds a loopback port outside of the range from which systems
// give out ports, so that a service that is down keeps it.
func reserveAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(20000))
		if listener, err := net.Listen("tcp", address); err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// await waits until a condition holds, and ends the test when it does not in
// time.
func await(t *testing.T, within time.Duration, what string, condition func() bool) {
	t.Helper()
	if !eventually(t, within, condition) {
		t.Fatalf("not within %s: %s", within, what)
	}
}
