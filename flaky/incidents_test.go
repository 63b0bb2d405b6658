package flaky

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func readyMade(t *testing.T, name string) *Server {
	t.Helper()
	script, err := ReadyMade(name)
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(script)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func TestOutageThenCapRefusesForThreeSecondsAndBeyondSixtyAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := readyMade(t, "outage-then-cap")
		<-time.After(5 * time.Second)
		if w := ask(t, server, "a", 1); w.Code != 503 || w.Header().Get("Retry-After") != "" {
			t.Errorf("in the outage: %d %v", w.Code, w.Header())
		}
		<-time.After(3 * time.Second)
		for i := range 60 {
			if w := ask(t, server, fmt.Sprint(i), 1); w.Code != 200 {
				t.Fatalf("request %d: %d", i, w.Code)
			}
		}
		if w := ask(t, server, "z", 1); w.Code != 429 || w.Header().Get("Retry-After") != "60" {
			t.Errorf("beyond the cap: %d %v", w.Code, w.Header())
		}
	})
}

func TestDailyQuotaIsSpentUntilItsResetNineHoursLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := readyMade(t, "daily-quota")
		<-time.After(time.Hour)
		w := ask(t, server, "a", 1)
		for _, want := range []string{"tokens per day", "Limit 100000", "Used 99299", "Requested 1139", "in 8h0m0s."} {
			if w.Code != 429 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%d %s: want %q in it", w.Code, w.Body, want)
			}
		}
		<-time.After(8 * time.Hour)
		const fit = 100000 / 1139
		for i := range fit {
			if w := ask(t, server, fmt.Sprint(i), 1); w.Code != 200 {
				t.Fatalf("after the reset, request %d: %d", i, w.Code)
			}
		}
		if w := ask(t, server, "z", 1); w.Code != 429 || !strings.Contains(w.Body.String(), "in 24h0m0s.") {
			t.Errorf("spent again: %d %s", w.Code, w.Body)
		}
		<-time.After(49 * time.Hour)
		if w := ask(t, server, "z", 1); w.Code != 200 {
			t.Errorf("two days later: %d", w.Code)
		}
	})
}

func TestTooLargeRefusesByFiguresAndOnlyTheLarge(t *testing.T) {
	server := readyMade(t, "too-large")
	if w := ask(t, server, "a", 10_000); w.Code != 200 {
		t.Errorf("at the limit: %d", w.Code)
	}
	w := ask(t, server, "b", 10_300)
	if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "Limit 10000, Requested 10300") {
		t.Errorf("above: %d %s", w.Code, w.Body)
	}
}
