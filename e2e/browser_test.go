//go:build browser

package e2e

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// browserDownstream is a downstream that the browser's script changes while it runs.
type browserDownstream struct{ mode atomic.Value }

// ServeHTTP answers as the last POST to /mode/… said.
func (m *browserDownstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if mode, found := strings.CutPrefix(r.URL.Path, "/mode/"); found {
		m.mode.Store(mode)
		return
	}
	switch m.mode.Load() {
	case "limit":
		w.Header().Set("Retry-After", "5")
		http.Error(w, "slow down, please", http.StatusTooManyRequests)
	case "reject":
		http.Error(w, "<script>window.harmed = 2</script> is not an order", http.StatusUnprocessableEntity)
	}
}

// The dashboard of the real program in a real browser, see
// dashboard/browser/pages.cjs. Debian's package chromium and the npm package
// playwright-core are needed; "make browser" finds or fetches the latter.
func TestDashboardInABrowser(t *testing.T) {
	programs := map[string]string{}
	for _, name := range []string{"chromium", "node"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("this test needs %s: %v", name, err)
		}
		programs[name] = path
	}
	downstream := &browserDownstream{}
	downstream.mode.Store("fine")
	server := httptest.NewServer(downstream)
	defer server.Close()
	s := started(t, server.URL, "WEIR_SOURCES=open", "WEIR_SOURCE_GITHUB_SECRET=",
		"WEIR_SOURCE_OPEN_SCHEME=none", "WEIR_SOURCE_OPEN_KEY=header:X-Key")

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	script := exec.CommandContext(ctx, programs["node"], "../dashboard/browser/pages.cjs")
	script.Env = append(os.Environ(), "PAGES=http://"+s.address, "TOKEN="+blackboxToken, "DOWNSTREAM="+server.URL,
		"CHROMIUM="+programs["chromium"], "SHOTS="+os.Getenv("BROWSER_SHOTS"))
	said, err := script.CombinedOutput()
	if err != nil {
		t.Fatalf("the browser's script: %v\n%s", err, said)
	}
	t.Logf("%s", said)
}
