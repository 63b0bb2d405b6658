package wording

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

func TestTimesForPeople(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 27, 11, 0, time.UTC)
	for _, c := range []struct {
		at   time.Duration
		want string
	}{
		{0, "03:27:11Z (now)"},
		{600 * time.Millisecond, "03:27:11Z (in 600ms)"},
		{29 * time.Second, "03:27:40Z (in 29s)"},
		{-90 * time.Second, "03:25:41Z (1m30s ago)"},
		{59*time.Minute + 59*time.Second + 900*time.Millisecond, "04:27:10Z (in 60m00s)"},
		{3*time.Hour + 5*time.Minute, "06:32:11Z (in 3h05m)"},
		{49 * time.Hour, "2026-12-02 04:27:11Z (in 2d01h)"},
	} {
		if got := Moment(now.Add(c.at), now); got != c.want {
			t.Errorf("%s: %q, want %q", c.at, got, c.want)
		}
	}
	if got := Moment(time.Time{}, now); got != "when an operator releases it" {
		t.Errorf("no time: %q", got)
	}
}

// Every word that may be shown has a meaning of its own.
func TestEveryWordIsExplained(t *testing.T) {
	explained := func(kind, word, text string) {
		if text == "" || strings.HasSuffix(text, "()") || strings.Contains(text, "("+word+")") {
			t.Errorf("%s %s is not explained: %q", kind, word, text)
		}
	}
	for _, reason := range webhook.HoldReasons() {
		if Hold(reason) == string(reason) {
			t.Errorf("hold %s is not explained", reason)
		}
	}
	for _, word := range webhook.WaitingFors() {
		explained("waiting for", string(word), Wait(word))
	}
	for _, reason := range webhook.DeadReasons() {
		explained("dead", string(reason), Dead(reason))
	}
}

// A word that is new, or not weir's, is shown as it is.
func TestUnknownWordsAreShownPlain(t *testing.T) {
	if got := WaitingFor("new\x1b[2J"); got != "new [2J" {
		t.Errorf("%q", got)
	}
	for _, word := range []string{WaitingFor("refused"), DeadReason("refused")} {
		if word == "refused" {
			t.Error("refused is not explained")
		}
	}
}

func TestEveryHoldThatNeedsAPersonSaysWhatIsNeeded(t *testing.T) {
	got := map[webhook.HoldReason]string{}
	for _, reason := range webhook.HoldReasons() {
		got[reason] = ActionNeeded(reason, "crm")
	}
	if diff := cmp.Diff(map[webhook.HoldReason]string{
		webhook.HoldPaused:      "Action needed: crm is paused by an operator",
		webhook.HoldGone:        "Action needed: crm says that its address is gone",
		webhook.HoldAuth:        "Action needed: crm rejects weir's credentials",
		webhook.HoldMisdirected: "Action needed: crm's address seems to be wrong",
		webhook.HoldQuota:       "Action needed: crm's quota is used up",
		webhook.HoldRetryAfter:  "Action needed: crm asked us to back off",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersOnOneLine(t *testing.T) {
	for _, c := range []struct {
		status     int
		said, want string
	}{
		{429, "slow\n\x1b[31mdown", "429 Too Many Requests: slow [31mdown"},
		{599, "", "599"},
		{0, "", "no response"},
		{0, "dial tcp 127.0.0.1:80: connect: connection refused", "no response: connection refused"},
		{0, "dial tcp [::1]:80: connect: connection refused", "no response: connection refused"},
		{0, "read tcp 127.0.0.1:1->127.0.0.1:80: read: connection reset by peer", "no response: connection reset by peer"},
		{0, "dial tcp: lookup app.invalid: no such host", "no response: lookup app.invalid: no such host"},
		{0, "dial tcp 10.0.0.1:443: i/o timeout", "no response: i/o timeout"},
		{0, "EOF", "no response: EOF"},
	} {
		if got := Answer(c.status, c.said); got != c.want {
			t.Errorf("%d %q: %q, want %q", c.status, c.said, got, c.want)
		}
	}
}
