package config

import (
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/outbound"
	"weir/webhook"
)

func FuzzSize(f *testing.F) {
	for _, seed := range []string{"64KiB", "1MiB", "25MiB", "0", "9223372036854775807", "1 B", "64TiB", "1MB", "-1", "8388608TiB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var size ByteSize
		if size.Decode(text) != nil {
			return
		}
		if size < 0 || size > maxSize {
			t.Fatalf("%q is %d bytes", text, size)
		}
		var again ByteSize
		if err := again.Decode(size.String()); err != nil || again != size {
			t.Errorf("%q is shown as %q, which is %d, %v", text, size, again, err)
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"30s", "30", "0", "-5s", "1d", "1h0m", "2562047h", ".5s", "0s", "1ns"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d Duration
		if d.Decode(text) != nil {
			return
		}
		if d < 0 || !strings.ContainsAny(text, "hmsuµμn") {
			t.Fatalf("%q is taken as %s", text, d)
		}
		var again Duration
		if err := again.Decode(d.String()); err != nil || again != d {
			t.Errorf("%q is shown as %q, which is %d, %v", text, d, again, err)
		}
	})
}

func FuzzRates(f *testing.F) {
	for _, seed := range []string{"60/1m", "60/1m,5000/24h", "0/1s", "1/1d", "/", ",", "1/1ms", "1000000000/744h", " 1/1s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var list Rates
		if list.Decode(text) != nil {
			return
		}
		for _, one := range list {
			if one.N < 1 || one.N > webhook.MaxRateN || one.Per < time.Millisecond || one.Per > webhook.MaxRatePer {
				t.Fatalf("%q holds %v", text, one)
			}
		}
		var again Rates
		if err := again.Decode(list.String()); err != nil || cmp.Diff(list, again) != "" {
			t.Errorf("%q is shown as %q", text, list)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	for _, seed := range []string{`{"Authorization":"Bearer x"}`, `{}`, `null`, `[]`, `{"A":1}`, `{"a":"b","A":"c"}`, `{"Host":"x"}`, `{"A":"\u0000"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var headers headerObject
		if headers.Decode(text) != nil {
			return
		}
		if _, err := outbound.New(outbound.Config{URL: "http://a.example", Headers: headers}); err != nil {
			t.Errorf("%q is taken, and then: %v", text, err)
		}
		for name, value := range headers {
			if !tokenForm.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") {
				t.Errorf("%q gives the header %q: %q", text, name, value)
			}
		}
	})
}

func FuzzNetworks(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8", "::1", "::ffff:1.2.3.4/96", "fe80::1%1", "0.0.0.0/0", "1.2.3.4/32,::/0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var list prefixes
		if list.Decode(text) != nil {
			return
		}
		for _, prefix := range list {
			if !prefix.IsValid() || prefix.Addr().Is4In6() || prefix != prefix.Masked() {
				t.Errorf("%q gives %v", text, prefix)
			}
			if first := prefix.Addr(); !prefix.Contains(first) || first == (netip.Addr{}) {
				t.Errorf("%v does not contain %v", prefix, first)
			}
		}
	})
}

func FuzzDistance(f *testing.F) {
	f.Add("WEIR_URL", "WEIR_ULR")
	f.Add("", "a")
	f.Add("kitten", "sitting")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
		edits := distance(a, b)
		if edits != distance(b, a) || (edits == 0) != (a == b) {
			t.Errorf("%q and %q: %d there, %d back", a, b, edits, distance(b, a))
		}
		if apart := int(math.Abs(float64(len(a) - len(b)))); edits < apart || edits > max(len(a), len(b)) {
			t.Errorf("%q and %q cannot be %d apart", a, b, edits)
		}
	})
}
