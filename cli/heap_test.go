package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
)

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
