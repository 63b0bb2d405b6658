package alert

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// alertStep is one thing that happens at a minute; want are the messages.
type alertStep struct {
	minute float64
	do     string // begin, end, tick, or what happens
	count  int
	want   []string
}

var alertT0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// play runs steps for one matter.
func play(t *testing.T, steps []alertStep) {
	t.Helper()
	a := newTracker()
	m := Condition{Hold, "app auth"}
	for i, step := range steps {
		now := alertT0.Add(time.Duration(step.minute * float64(time.Minute)))
		var got []string
		switch step.do {
		case "begin":
			got = a.begin(m, "app is held", now)
		case "end":
			got = a.end(m, now)
		case "tick":
			got = a.tick(now)
		case "known":
			a.seed(m, "app is held", now)
		default:
			got = a.occur(m, occurrence{text: "deliveries to app died", what: step.do, count: step.count}, now)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("step %d, %s at %g min: %s", i, step.do, step.minute, diff)
		}
	}
}

func TestAlertsBeginAndEndOnce(t *testing.T) {
	play(t, []alertStep{
		{0, "begin", 0, []string{"app is held"}},
		{1, "begin", 0, nil},
		{30, "tick", 0, nil},
		{200, "tick", 0, nil},
		{201, "end", 0, []string{"over after 3h21m0s: destination app was held: auth"}},
		{202, "end", 0, nil},
		{400, "tick", 0, nil},
		{500, "begin", 0, []string{"app is held"}},
	})
}

func TestAlertsThatComeAndGoAreSummedUpByTheHour(t *testing.T) {
	play(t, []alertStep{
		{0, "begin", 0, []string{"app is held"}},
		{1, "end", 0, []string{"over after 1m0s: destination app was held: auth"}},
		{2, "begin", 0, nil},
		{3, "end", 0, nil},
		{4, "begin", 0, nil},
		{59, "tick", 0, nil},
		{60, "tick", 0, []string{"app is held (began 2 times since the last message)"}},
		{61, "end", 0, []string{"over after 57m0s: destination app was held: auth"}},
		{62, "begin", 0, nil},
		{63, "end", 0, nil},
		{119, "tick", 0, nil},
		{121, "tick", 0, []string{"over, but it came back once since the last message: destination app was held: auth"}},
		{300, "tick", 0, nil},
	})
}

func TestAlertsOfWhatHappensAreToldAtOnceAndThenSummedUp(t *testing.T) {
	play(t, []alertStep{
		{0, "rejected", 1, []string{"deliveries to app died: 1 rejected"}},
		{1, "rejected", 2, nil},
		{2, "expired", 40, nil},
		{59, "tick", 0, nil},
		{60, "tick", 0, []string{"deliveries to app died: 40 expired, 2 rejected"}},
		{119, "rejected", 1, nil},
		{120.5, "rejected", 1, []string{"deliveries to app died: 2 rejected"}},
		{130, "a whole sentence", 1, nil},
		{131, "a whole sentence", 1, nil},
		{181, "tick", 0, []string{"deliveries to app died: a whole sentence (2 times)"}},
		{300, "tick", 0, nil},
	})
}

func TestWhatAStartFindsIsNoNewsButItsEndIs(t *testing.T) {
	play(t, []alertStep{
		{0, "known", 0, nil},
		{1, "begin", 0, nil},
		{2, "tick", 0, nil},
		{9, "end", 0, []string{"over after 9m0s: destination app was held: auth"}},
	})
}

func TestAnEndSpeaksOfThePast(t *testing.T) {
	for m, want := range map[Condition]string{
		{Hold, "app retry_after"}: "over after 21s: destination app was held: retry_after",
		{Silent, "github"}:        "over after 21s: source github was silent",
		{Full, ""}:                "over after 21s: the store was full, or nearly",
		{Store, ""}:               "over after 21s: the store could not commit",
		{Stuck, "app"}:            "over after 21s: destination app: its delivery loop was stuck",
		{Removed, "old"}:          "over after 21s: destination old: was not configured any more, but deliveries waited for it",
	} {
		a := newTracker()
		a.begin(m, "something is the matter; it is tried again later", alertT0)
		if diff := cmp.Diff([]string{want}, a.end(m, alertT0.Add(21*time.Second))); diff != "" {
			t.Errorf("%v: %s", m, diff)
		}
	}
}

func TestSummariesNameAFewThingsOnly(t *testing.T) {
	a, m := newTracker(), Condition{Revoked, "twitch"}
	a.occur(m, occurrence{text: "source twitch", what: "first", count: 1}, alertT0)
	for i := range 1000 {
		a.occur(m, occurrence{text: "source twitch", what: fmt.Sprint("revoked ", i), count: 1}, alertT0.Add(time.Minute))
	}
	got := a.tick(alertT0.Add(2 * time.Hour))
	if len(got) != 1 || !strings.Contains(got[0], "992 others") || len(got[0]) > 300 {
		t.Errorf("%q", got)
	}
}

// TestNoMatterIsToldTooOften: whatever comes in whatever order, a condition has at
// most one message an hour beside the end of one that was told, no end comes
// without a beginning, and what stands is told within the hour.
func TestNoMatterIsToldTooOften(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		a, m := newTracker(), Condition{Hold, "app auth"}
		var last time.Time
		open, untold := false, time.Time{}
		now := alertT0
		for range 500 {
			now = now.Add(time.Duration(random.Int64N(int64(10 * time.Minute))))
			var got []string
			switch random.IntN(3) {
			case 0:
				got = a.begin(m, "held", now)
			case 1:
				got = a.end(m, now)
			default:
				got = a.tick(now)
			}
			for _, text := range got {
				if strings.HasPrefix(text, "over after") {
					if !open {
						t.Fatalf("seed %d: an end without a beginning", seed)
					}
					open = false
					continue
				}
				if now.Sub(last) < repeatAfter {
					t.Fatalf("seed %d: %q only %s after the message before", seed, text, now.Sub(last))
				}
				last, open = now, !strings.HasPrefix(text, "over,")
			}
			if !a.isActive(m) || open {
				untold = time.Time{}
			} else if untold.IsZero() {
				untold = now
			}
			// A look every ten minutes or so, one in three of them a tick.
			if !untold.IsZero() && now.Sub(untold) > repeatAfter+5*time.Hour {
				t.Fatalf("seed %d: stands for %s and nobody was told", seed, now.Sub(untold))
			}
		}
	}
}

func TestASourceIsSilentByItsOwnRhythm(t *testing.T) {
	day := 24 * time.Hour
	every := func(gap time.Duration, from time.Duration, n int) []time.Duration {
		var at []time.Duration
		for i := range n {
			at = append(at, from+time.Duration(i)*gap)
		}
		return at
	}
	office := func(days int) []time.Duration { // every 10 minutes from 8 to 18, Monday to Friday
		var at []time.Duration
		for d := range days {
			if weekday := d % 7; weekday < 5 {
				at = append(at, every(10*time.Minute, time.Duration(d)*day+8*time.Hour, 61)...)
			}
		}
		return at
	}
	tests := []struct {
		name     string
		heard    []time.Duration
		active   bool
		patience time.Duration
	}{
		{"never", nil, false, 0},
		{"a few times", every(time.Minute, 0, 9), false, 0},
		{"known for less than a day", every(time.Minute, 0, 100), true, day},
		{"every second for two days", every(time.Second, 0, 2*86400), true, time.Hour},
		{"every half hour", every(30*time.Minute, 0, 100), true, 90 * time.Minute},
		{"once a day", every(day, 0, 12), true, 3 * day},
		{"nights are learnt", office(5), true, 42 * time.Hour},
		{"weekends are learnt", office(12), true, 3 * 62 * time.Hour},
		{"once a month", every(30*day, 0, 12), true, 30 * day},
		{"a long gap is forgotten after two weeks", append(every(time.Hour, 0, 10), every(time.Hour, 10*day, 24*20)...), true, 3 * time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r Cadence
			last := alertT0
			for _, at := range test.heard {
				last = alertT0.Add(at)
				r = r.Heard(last)
			}
			patience, active := r.silenceThreshold()
			if active != test.active || patience != test.patience {
				t.Fatalf("active %t, patience %s; want %t, %s", active, patience, test.active, test.patience)
			}
			if r.silent(last.Add(test.patience), alertT0) {
				t.Error("silent before its time")
			}
			if r.silent(last.Add(test.patience+time.Second), alertT0) != test.active {
				t.Error("silent and nobody notices, or never active and taken for silent")
			}
			if r.silent(last.Add(test.patience+time.Second), last.Add(test.patience)) {
				t.Error("the time when weir was down counts as silence")
			}
		})
	}
}

func TestTheStoredRhythmGoesOnWithWhatIsHeard(t *testing.T) {
	var whole, before, after Cadence
	for i := range 50 {
		at := alertT0.Add(time.Duration(i*i) * time.Minute)
		whole = whole.Heard(at)
		if i < 30 {
			before = before.Heard(at)
		} else {
			after = after.Heard(at)
		}
	}
	if diff := cmp.Diff(whole, before.followedBy(after), cmp.AllowUnexported(Cadence{}, dayGap{})); diff != "" {
		t.Error(diff)
	}
	if before.followedBy(Cadence{}) != before || (Cadence{}).followedBy(after) != after {
		t.Error("nothing changes a rhythm")
	}
}
