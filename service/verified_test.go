package service

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestVerifiedBlocksOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db"+verifiedSuffix)
	if got, err := readVerified(path); got != nil || err != nil {
		t.Errorf("without a file: %v %v", got, err)
	}
	want := map[netip.Addr]time.Time{
		netip.MustParseAddr("203.0.113.7"):    time.Unix(1_800_000_000, 0),
		netip.MustParseAddr("2001:db8:1:2::"): time.Unix(1_800_000_001, 0),
	}
	for range 2 {
		if err := writeVerified(path, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readVerified(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readVerified(path); err == nil {
		t.Error("a torn file is read")
	}
}
