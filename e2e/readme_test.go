package e2e

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fences returns the code of a page's blocks that are fenced with this word.
func fences(page, word string) []string {
	var blocks []string
	for _, found := range regexp.MustCompile("(?ms)^```"+word+"\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, found[1])
	}
	return blocks
}

// unusedAddress returns an address on loopback that nobody listens on.
func unusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestReadmeTour runs the tour of the README, with what docs/senders.md and
// docs/api.md add to it before its end. The ports are others, so that it does not
// meet a service of this machine, and the program is the one that the tests have
// built.
func TestReadmeTour(t *testing.T) {
	t.Parallel()
	var steps []string
	for _, part := range [][2]string{
		{"README.md", "bash tour"}, {"docs/senders.md", "bash tour"}, {"docs/api.md", "bash tour"}, {"README.md", "bash tour end"},
	} {
		page, err := os.ReadFile("../" + part[0])
		if err != nil {
			t.Fatal(err)
		}
		found := fences(string(page), part[1])
		if len(found) == 0 {
			t.Fatalf("%s has no step of the tour", part[0])
		}
		steps = append(steps, found...)
	}
	program, err := builtWeir()
	if err != nil {
		t.Fatal(err)
	}
	address := unusedAddress(t)
	tour := strings.NewReplacer(
		"go build -o weir .", "ln -s "+program+" weir",
		"127.0.0.1:8080", address, "127.0.0.1:3000", unusedAddress(t),
	).Replace(strings.Join(steps, "echo\n"))
	out := runTour(t, tour, "WEIR_ADDR="+address, "WEIR_URL=http://"+address)
	says(t, out,
		"200 OK", "key        my-first-event", "waits for retry_after", "429 Too Many Requests", "asked  to wait 5s",
		"to default: delivered",
		`"duplicate":false}`, `"duplicate":true}`, `"status":401`,
		`"items":[`, `"next_cursor"`, `"key":"my-first-event"`, `"items":[]`, `"breaker"`, `"last_accepted_at"`, `"amplification"`,
		`"attempts":[`, `"state":"paused"`, `"state":"ready"`,
		`"status":409`, `"dry_run":true,"matched":0`)
}

// runTour runs a script in a folder and an environment of its own and returns
// what it printed.
func runTour(t *testing.T, tour string, environ ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", tour)
	shell.Dir = t.TempDir()
	shell.Env = append(environ, "PATH="+os.Getenv("PATH"), "HOME="+shell.Dir)
	// A tour that stops half-way leaves its servers: they end with the group.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.WaitDelay = 5 * time.Second
	out, err := shell.CombinedOutput()
	if err != nil {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		log, _ := os.ReadFile(filepath.Join(shell.Dir, "weir.log"))
		t.Fatalf("the tour fails: %v\n%s\n%s", err, out, log)
	}
	return string(out)
}

// says fails unless the parts appear in the text, in this order.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%q does not follow in\n%s", part, text)
			return
		}
		rest = after
	}
}
