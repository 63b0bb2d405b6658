package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"weir/webhook"
)

func TestIDsSurviveTheirTextForm(t *testing.T) {
	const text = "0193a8f0-1234-7abc-8def-0123456789ab"
	id, err := webhook.ParseID(strings.ToUpper(text))
	if err != nil || id.String() != text {
		t.Errorf("%s, %v", id, err)
	}
	encoded, err := json.Marshal(map[webhook.ID]webhook.ID{id: id})
	if want := `{"` + text + `":"` + text + `"}`; err != nil || string(encoded) != want {
		t.Errorf("%s, %v", encoded, err)
	}
}

func TestOtherTextsAreNoIDs(t *testing.T) {
	for _, text := range []string{
		"", "0193", "0193a8f0-1234-7abc-8def-0123456789a", "0193a8f0-1234-7abc-8def-0123456789abc",
		"0193a8f001234-7abc-8def-0123456789ab", "{193a8f0-1234-7abc-8def-0123456789a}", "0193a8f0-1234-7abc-8def-0123456789ag",
	} {
		if _, err := webhook.ParseID(text); err == nil {
			t.Errorf("%q is taken for an id", text)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("0193a8f0-1234-7abc-8def-0123456789ab")
	f.Add("----")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := webhook.ParseID(text)
		if err == nil && id.String() != strings.ToLower(text) {
			t.Errorf("%q becomes %s", text, id)
		}
	})
}

func TestCeilIsNeverEarlyAndFloorNeverLate(t *testing.T) {
	base := time.Date(2026, 11, 30, 1, 2, 3, 0, time.FixedZone("east", 3600))
	for _, after := range []time.Duration{0, 1, time.Microsecond, 999_999, time.Millisecond, 1_000_001} {
		at := base.Add(after)
		up, down := webhook.Ceil(at), webhook.Floor(at)
		if up.Before(at) || up.Sub(at) >= time.Millisecond || up.Nanosecond()%1_000_000 != 0 || up.Location() != time.UTC {
			t.Errorf("Ceil(+%s) is %s", after, up)
		}
		if down.After(at) || at.Sub(down) >= time.Millisecond || down.Nanosecond()%1_000_000 != 0 {
			t.Errorf("Floor(+%s) is %s", after, down)
		}
	}
	if !webhook.Ceil(time.Time{}).IsZero() {
		t.Error("the zero time is rounded")
	}
}

func TestRates(t *testing.T) {
	rates, err := webhook.ParseRates("60/1m, 5000/24h")
	if err != nil || len(rates) != 2 || rates[0] != (webhook.Rate{N: 60, Per: time.Minute}) || rates[1].Per != 24*time.Hour {
		t.Errorf("%v, %v", rates, err)
	}
	for _, text := range []string{"", "60", "60/", "/1m", "0/1m", "-1/1m", "1.5/1m", "60/60", "60/0s", "60/-1m", "60/1ns", "60/1000h", "60/1m,", "1e3/1m", "99999999999999999999/1m"} {
		if _, err := webhook.ParseRates(text); err == nil {
			t.Errorf("%q is taken for a rate", text)
		}
	}
}

func FuzzParseRates(f *testing.F) {
	f.Add("60/1m,5000/24h")
	f.Fuzz(func(t *testing.T, text string) {
		rates, err := webhook.ParseRates(text)
		for _, rate := range rates {
			again, fault := webhook.ParseRate(rate.String())
			if err == nil && (fault != nil || again != rate || rate.N < 1 || rate.Per < time.Millisecond) {
				t.Errorf("%q becomes %v", text, rate)
			}
		}
	})
}

func TestHoldsKeepTheirOrderAndAreOneForEachReason(t *testing.T) {
	var d webhook.Destination
	for _, reason := range []webhook.HoldReason{webhook.HoldRetryAfter, webhook.HoldPaused, webhook.HoldQuota, webhook.HoldPaused} {
		d = d.WithHold(webhook.Hold{Reason: reason})
	}
	if len(d.Holds) != 3 || d.Holds[0].Reason != webhook.HoldPaused || d.Holds[2].Reason != webhook.HoldRetryAfter {
		t.Errorf("holds %+v", d.Holds)
	}
	less := d.WithoutHold(webhook.HoldPaused, webhook.HoldQuota)
	if len(less.Holds) != 1 || len(d.Holds) != 3 {
		t.Errorf("without two: %+v; before: %+v", less.Holds, d.Holds)
	}
}

// TestWordsAreClosedSets: the lists name every word once.
func TestWordsAreClosedSets(t *testing.T) {
	var words []string
	for _, o := range webhook.Outcomes() {
		words = append(words, string(o))
	}
	if strings.Join(words, " ") != "delivered rate_limited quota_exhausted transient network rejected too_large gone misdirected auth" {
		t.Errorf("outcomes: %v", words)
	}
	if len(webhook.Results()) != 12 || len(webhook.WaitingFors()) != 13 || len(webhook.DeadReasons()) != 7 || len(webhook.States()) != 3 {
		t.Error("a word is missing from its list")
	}
}
