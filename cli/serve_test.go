package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigCheck(t *testing.T) {
	var out, warnings bytes.Buffer
	env := Env{Environ: environ(), Stdout: &out, Stderr: &warnings}
	if err := Run(context.Background(), env, []string{"config", "--check"}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "ok\n" || !strings.Contains(warnings.String(), "WEIR_API_TOKEN") {
		t.Errorf("printed %q and the warnings %q", out.String(), warnings.String())
	}
	for _, args := range [][]string{{"--check"}, {}} {
		err := Run(context.Background(), Env{Stdout: io.Discard, Stderr: io.Discard}, append([]string{"config"}, args...))
		if status := ExitStatus(err, io.Discard); status != ExitUsage {
			t.Errorf("%v without settings: %v, status %d", args, err, status)
		}
	}
	err := Run(context.Background(), Env{Environ: environ(), Stdout: io.Discard, Stderr: io.Discard}, []string{"config", "--verbose"})
	if status := ExitStatus(err, io.Discard); status != ExitUsage {
		t.Errorf("an unknown argument: %v, status %d", err, status)
	}
}

func TestDemoTakesNoArguments(t *testing.T) {
	err := Run(t.Context(), quietEnv(io.Discard), []string{"demo", "fast"})
	if ExitStatus(err, io.Discard) != ExitUsage {
		t.Errorf("got %v", err)
	}
}

func TestHelpRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{{"nonsense"}, {"a", "b"}} {
		err := Run(context.Background(), Env{Stdout: io.Discard}, append([]string{"help"}, args...))
		if status := ExitStatus(err, io.Discard); status != ExitUsage {
			t.Errorf("%v: status %d", args, status)
		}
	}
}

// TestTheHeapFollowsWhatMayBeInFlight: garbage of large bodies must not fill a
// small machine, and a larger allowance must not be strangled.
func TestTheHeapFollowsWhatMayBeInFlight(t *testing.T) {
	for inflight, want := range map[string]int64{"": 72 << 20, "1GiB": 1064 << 20} {
		var got int64
		noListener := errors.New("no listener here")
		err := Run(t.Context(), Env{
			Environ: []string{
				"WEIR_DATABASE=" + filepath.Join(t.TempDir(), "weir.db"), "WEIR_MAX_INFLIGHT=" + inflight,
				"WEIR_SOURCES=github", "WEIR_SOURCE_GITHUB_SECRET=" + testSecret, "WEIR_FORWARD_URL=http://app/",
			},
			Stderr: io.Discard,
			Listen: func(context.Context, string, string) (net.Listener, error) { return nil, noListener },
			Heap:   func(bytes int64) int64 { got = bytes; return 0 },
		}, []string{"serve"})
		if !errors.Is(err, noListener) {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("WEIR_MAX_INFLIGHT=%s: %d bytes, want %d", inflight, got, want)
		}
	}
}
