package outbound

import (
	"net/http"
	"testing"
	"time"
)

// TestNoPoolServesLongerThanAMinute holds that a downstream that moves is found
// by looking its name up again, however busy the old connections are.
func TestNoPoolServesLongerThanAMinute(t *testing.T) {
	var p pool
	open := func() *http.Transport { return new(http.Transport) }
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	first := p.get(start, open)
	if p.get(start.Add(maxPoolAge-time.Second), open) != first {
		t.Error("a pool within its age was left")
	}
	second := p.get(start.Add(maxPoolAge), open)
	if second == first || p.peek() != second {
		t.Error("a pool past its age goes on")
	}
	if p.get(start.Add(2*maxPoolAge-time.Second), open) != second {
		t.Error("the age of the new pool is counted from the old one")
	}
}
