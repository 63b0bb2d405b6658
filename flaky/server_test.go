package flaky

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// serve makes a server of a script in its JSON form.
func serve(t *testing.T, text string) *Server {
	t.Helper()
	script, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(script)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// ask sends one event with a body of so many bytes.
func ask(t *testing.T, s *Server, event string, size int) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
	r.Header.Set("Weir-Event-Id", event)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestRulesApplyByTimeNumberSizeAndTry(t *testing.T) {
	type request struct {
		at    time.Duration
		event string
		size  int
	}
	tests := []struct {
		name     string
		rules    string
		requests []request
		want     []int
	}{
		{"no rule is 200", ``, []request{{}}, []int{200}},
		{
			"to is exclusive", `{"when":{"from":"10s","to":"13s"},"status":503}`,
			[]request{{at: 9999 * time.Millisecond}, {at: 10 * time.Second}, {at: 12999 * time.Millisecond}, {at: 13 * time.Second}},
			[]int{200, 503, 503, 200},
		},
		{
			"every repeats times", `{"when":{"to":"1s","every":"1m"},"status":503}`,
			[]request{{}, {at: time.Second}, {at: time.Minute}, {at: 61 * time.Second}},
			[]int{503, 200, 503, 200},
		},
		{
			"first and last are inclusive", `{"when":{"first":2,"last":3},"status":500}`,
			[]request{{}, {}, {}, {}}, []int{200, 500, 500, 200},
		},
		{
			"each repeats numbers", `{"when":{"last":1,"each":3},"status":500}`,
			[]request{{}, {}, {}, {}, {}}, []int{500, 200, 200, 500, 200},
		},
		{
			"tries count by event", `{"when":{"tries":1},"status":500}`,
			[]request{{event: "a"}, {event: "b"}, {event: "a"}, {event: "b"}},
			[]int{500, 500, 200, 200},
		},
		{
			"a size at the limit passes", `{"when":{"larger_than":10},"status":413}`,
			[]request{{size: 10}, {size: 11}}, []int{200, 413},
		},
		{
			"the first rule that applies answers", `{"when":{"last":1},"status":500},{"status":404}`,
			[]request{{}, {}}, []int{500, 404},
		},
		{
			"a path is exact", `{"when":{"path":"/other"},"status":500}`,
			[]request{{}}, []int{200},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := serve(t, `{"rules":[`+test.rules+`]}`)
				start := time.Now()
				var got []int
				for _, r := range test.requests {
					<-time.After(time.Until(start.Add(r.at)))
					got = append(got, ask(t, server, r.event, r.size).Code)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("statuses (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestCapNeverPassesMoreThanItsRateAndRetryAfterIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, `{"rules":[{"when":{"over":"3/10s"},"status":429,"headers":{"Retry-After":"{retry_after}"}}]}`)
		var passed []time.Time
		for range 200 {
			w := ask(t, server, "", 0)
			if w.Code == http.StatusOK {
				passed = append(passed, time.Now())
				<-time.After(700 * time.Millisecond)
				continue
			}
			seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
			if err != nil || seconds < 1 || seconds > 10 {
				t.Fatalf("Retry-After = %q", w.Header().Get("Retry-After"))
			}
			<-time.After(time.Duration(seconds) * time.Second)
			if w := ask(t, server, "", 0); w.Code != http.StatusOK {
				t.Fatalf("after its Retry-After of %d s: %d", seconds, w.Code)
			}
			passed = append(passed, time.Now())
		}
		for i := 3; i < len(passed); i++ {
			if gap := passed[i].Sub(passed[i-3]); gap < 10*time.Second {
				t.Errorf("four requests within %s", gap)
			}
		}
	})
}

func TestChancesAreThoseOfTheSeed(t *testing.T) {
	row := func(seed string) (codes []int) {
		server := serve(t, `{"seed":`+seed+`,"rules":[{"when":{"chance":0.5},"status":500}]}`)
		for range 64 {
			codes = append(codes, ask(t, server, "", 0).Code)
		}
		return codes
	}
	if diff := cmp.Diff(row("7"), row("7")); diff != "" {
		t.Errorf("one seed, two rows:\n%s", diff)
	}
	if cmp.Equal(row("7"), row("8")) {
		t.Error("two seeds, one row")
	}
}

func TestFiguresStandInHeadersAndBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, `{"rules":[{"when":{"to":"90s500ms"},"status":503,
			"headers":{"Retry-After":"{retry_date}","X-Reset":"{reset_unix}"},
			"body":"{wait} {retry_after} {size} {number} {event}"}]}`)
		w := ask(t, server, "e1", 7)
		if got, want := w.Body.String(), "1m30.5s 91 7 1 e1"; got != want {
			t.Errorf("body %q, want %q", got, want)
		}
		date, err := http.ParseTime(w.Header().Get("Retry-After"))
		if err != nil || time.Until(date) != 91*time.Second {
			t.Errorf("Retry-After %q: %v", w.Header().Get("Retry-After"), err)
		}
		if got := w.Header().Get("X-Reset"); got != strconv.FormatInt(date.Unix(), 10) {
			t.Errorf("X-Reset %q", got)
		}
	})
}

func TestEchoGivesTheBodyBack(t *testing.T) {
	server := serve(t, `{"rules":[{"echo":true,"status":201,"pad":2}]}`)
	if w := ask(t, server, "", 3); w.Code != 201 || w.Body.String() != "xxx  " {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
}

// client asks a server over a real connection.
func client(t *testing.T, text string) (*Server, *httptest.Server) {
	t.Helper()
	server := serve(t, text)
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	return server, listening
}

func TestFaultsBreakTheAnswer(t *testing.T) {
	tests := []struct {
		fault Fault
		want  string
	}{
		{FaultReset, "connection reset"},
		{FaultClose, "EOF"},
		{FaultHang, "deadline"},
		{FaultSlowHeaders, "deadline"},
	}
	for _, test := range tests {
		t.Run(string(test.fault), func(t *testing.T) {
			server, listening := client(t, `{"rules":[{"fault":"`+string(test.fault)+`"}]}`)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, listening.URL, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			w, err := http.DefaultTransport.RoundTrip(r)
			if err == nil {
				w.Body.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			listening.Close()
			if seen := server.Requests(); len(seen) != 1 || seen[0].Answered {
				t.Errorf("requests %+v, want one that is not answered", seen)
			}
		})
	}
}

func TestHalfAnAnswerIsAStatusAndABrokenBody(t *testing.T) {
	server, listening := client(t, `{"rules":[{"fault":"half","status":200,"body":"half of"}]}`)
	w, err := http.Post(listening.URL, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	var text strings.Builder
	_, err = io.Copy(&text, w.Body)
	if err == nil || w.StatusCode != 200 || text.String() != "half of" {
		t.Errorf("%d %q %v", w.StatusCode, text.String(), err)
	}
	if stats := server.Stats(); stats.Statuses["half"] != 1 {
		t.Errorf("statuses %v", stats.Statuses)
	}
}

func TestTrickleSendsByteByByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, `{"latency":"1s","rules":[{"delay":"2s","trickle":"3s","body":"abcd"}]}`)
		start := time.Now()
		w := ask(t, server, "", 0)
		if got := time.Since(start); got != 15*time.Second || w.Body.String() != "abcd" {
			t.Errorf("%q after %s", w.Body, got)
		}
	})
}

func TestAClientThatLeavesIsCountedButNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, `{"rules":[{"delay":"1h"}]}`)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("recovered %v", err)
				}
			}()
			server.ServeHTTP(httptest.NewRecorder(), r)
		}()
		if stats := server.Stats(); stats.Requests != 1 || stats.Accepted != 0 || stats.Open != 0 {
			t.Errorf("stats %+v", stats)
		}
	})
}
