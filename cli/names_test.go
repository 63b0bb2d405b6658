package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/flaky"
	"weir/webhook"
)

// A word that no delivery could have is a wrong call, and is so told before
// anything is asked.
func TestFiltersRefuseWordsThatAreNone(t *testing.T) {
	for _, args := range [][]string{
		{"events", "--state", "nope"}, {"redeliver", "--filter", "state=deed"},
		{"redeliver", "--filter", "reason=nope"}, {"redeliver", "--filter", "waiting_for=nope"},
	} {
		w := quietEnv(io.Discard)
		w.Environ = []string{"WEIR_API_TOKEN=" + testToken}
		err := Run(t.Context(), w, args)
		if ExitStatus(err, io.Discard) != ExitUsage || !strings.Contains(err.Error(), "must be one of") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// A name that is not configured finds nothing: that is an error of the call.
func TestFiltersTellOfNamesThatAreNotThere(t *testing.T) {
	s := serveFor(t, flaky.Script{})
	for _, c := range []struct {
		rule string
		args []string
		want string
	}{
		{"redeliver: a destination", []string{"redeliver", "--filter", "destination=nope"}, "weir: there is no destination \"nope\"; there is default\n"},
		{"redeliver: a source", []string{"redeliver", "--filter", "state=dead,source=gitbub"}, "weir: there is no source \"gitbub\"; there is github\n"},
		{"redeliver: known ones", []string{"redeliver", "--filter", "destination=default,source=github"}, ""},
		{"events: a source", []string{"events", "--source", "nope"}, "weir: there is no source \"nope\"; there is github\n"},
		{"events: a destination", []string{"events", "--json", "--destination", "nope"}, "weir: there is no destination \"nope\"; there is default\n"},
		{"events: none yet", []string{"events"}, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var notes bytes.Buffer
			w := s.env
			w.Stderr = &notes
			status := ExitStatus(Run(t.Context(), w, c.args), &notes)
			if diff := cmp.Diff(c.want, notes.String()); diff != "" || (status == ExitUsage) != (c.want != "") {
				t.Errorf("status %d: %s", status, diff)
			}
		})
	}
}

func TestNamesAreListedBehindTheWordThatFits(t *testing.T) {
	got := []string{isOrAre(nil), isOrAre([]string{"a"}), isOrAre([]string{"a", "b"})}
	if diff := cmp.Diff([]string{"is none", "is a", "are a, b"}, got); diff != "" {
		t.Error(diff)
	}
}

// What was delivered is sent again by force only, and the count says so.
func TestRedeliverCountsWhatCanBeSentAgain(t *testing.T) {
	s := serveFor(t, flaky.Script{})
	if _, err := s.call(t, "send", "github", "--count", "2"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the record", func() bool { return s.firstEvent(t).Deliveries[0].State == webhook.Delivered })
	for _, yes := range []string{"--yes=false", "--yes"} {
		out, err := s.call(t, "redeliver", "--filter", "state=delivered", yes)
		if err != nil {
			t.Fatal(err)
		}
		says(t, out, "matching deliveries: 2", "none can be sent again", "--force")
		if strings.Contains(out, "with --yes") {
			t.Errorf("it promises what it will not do:\n%s", out)
		}
	}
	out, err := s.call(t, "redeliver", "--filter", "state=delivered", "--force")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "matching deliveries: 2", "dry run; add --yes to redeliver")
}

// What waits is not "pending again": it is due, and told what it waits for still.
func TestRedeliverOfWhatWaitsSaysSo(t *testing.T) {
	s := serveFor(t, alwaysAnswers(flaky.Answer{Status: http.StatusUnauthorized}))
	if _, err := s.call(t, "send", "github"); err != nil {
		t.Fatal(err)
	}
	out, err := s.call(t, "redeliver", s.firstEvent(t).ID.String(), "default")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "to default waits no longer for its own time: waits for auth (it rejects weir's credentials)")
	for _, filter := range []string{"state=pending", "waiting_for=auth"} {
		out, err = s.call(t, "redeliver", "--yes", "--filter", filter)
		if err != nil {
			t.Fatal(err)
		}
		says(t, out, "matching deliveries: 1", "1 wait no longer for their own time")
	}
}

// The head of the table does not stand above an error.
func TestEventsPrintsNoHeadBeforeAnError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, args := range [][]string{nil, {"--follow"}} {
		var out bytes.Buffer
		w := quietEnv(&out)
		w.Environ = []string{"WEIR_URL=" + server.URL, "WEIR_API_TOKEN=" + testToken}
		if err := Run(t.Context(), w, append([]string{"events"}, args...)); err == nil || out.Len() > 0 {
			t.Errorf("%v: %v, printed %q", args, err, &out)
		}
	}
}
