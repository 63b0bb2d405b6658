package dashboard

import (
	"strings"
	"testing"
	"testing/quick"
	"time"
	"unicode/utf8"
)

func TestSpansHaveTheirTwoLargestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour:                           "0 ms",
		0:                                    "0 ms",
		999 * time.Millisecond:               "999 ms",
		time.Second:                          "1 s",
		61 * time.Second:                     "1 min 1 s",
		time.Hour:                            "1 h",
		time.Hour + time.Second:              "1 h",
		25*time.Hour + 59*time.Minute:        "1 d 1 h",
		24*time.Hour + time.Minute:           "1 d",
		31 * 24 * time.Hour:                  "31 d",
		2*time.Minute + 500*time.Millisecond: "2 min",
		72*time.Hour - 10*time.Second:        "2 d 23 h",
	} {
		if got := span(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

func TestMomentsAreRelativeToNow(t *testing.T) {
	for away, want := range map[time.Duration]string{
		90 * time.Second:        "in 1 min 30 s",
		0:                       "now",
		-999 * time.Millisecond: "now",
		-2 * time.Hour:          "2 h ago",
	} {
		m := moment{noon.Add(away), noon}
		if got := m.Relative(); got != want {
			t.Errorf("%s away is %q, want %q", away, got, want)
		}
	}
	m := moment{At: noon.In(time.FixedZone("", 3600))}
	if m.Machine() != "2026-11-30T12:00:00.000Z" || m.UTC() != "2026-11-30 12:00:00 UTC" || m.None() || !(moment{}).None() {
		t.Errorf("%q, %q", m.Machine(), m.UTC())
	}
}

func TestSizesAndCountsAreWritten(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 25 << 20: "25.0 MiB"} {
		if got := size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for _, c := range []struct {
		n    int
		one  string
		want string
	}{{0, "probe", "0 probes"}, {1, "delivery", "1 delivery"}, {2, "delivery", "2 deliveries"}} {
		if got := count(c.n, c.one); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestHiddenCharactersBecomeVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain\n\ttext é 漢 🙂": "plain\n\ttext é 漢 🙂",
		"\u202egnp.exe":       `\u202egnp.exe`,
		"a\u200bb":            `a\u200bb`,
		"\x1b[31m\x00\x7f":    `\x1b[31m\x00\x7f`,
		"\u2066x\u2069":       `\u2066x\u2069`,
		"\ufeff":              `\ufeff`,
		"\r\n":                `\x0d` + "\n",
		"bad \xff":            "bad \ufffd",
		"soft\u00adhyphen":    `soft\xadhyphen`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestClippedTextsAreBoundedAndWhole(t *testing.T) {
	bounded := func(text string, most uint8) bool {
		got := clip(text, int(most))
		if len(text) <= int(most) {
			return got == text
		}
		head, found := strings.CutSuffix(got, "…")
		return found && len(head) <= int(most) && strings.HasPrefix(text, head) && (!utf8.ValidString(text) || utf8.ValidString(got))
	}
	if err := quick.Check(bounded, nil); err != nil {
		t.Error(err)
	}
	if got := clip("éé", 3); got != "é…" {
		t.Errorf("%q", got)
	}
}
