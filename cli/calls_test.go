package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/flaky"
	"weir/webhook"
)

// fails runs a call that is wrong and returns what is printed about it.
func fails(t *testing.T, w Env, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	if status := ExitStatus(Run(t.Context(), w, args), &said); status != ExitUsage {
		t.Errorf("%q: status %d: %s", args, status, &said)
	}
	return said.String()
}

// What is wrong is said once, behind one name, with what was meant and where to
// look.
func TestASlipIsAnsweredWithWhatWasMeant(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"statsu"}, `weir: there is no command "statsu", did you mean "status"?; weir help lists the commands` + "\n"},
		{[]string{"nonsense"}, `weir: there is no command "nonsense"; weir help lists the commands` + "\n"},
		{[]string{"__complet"}, `weir: there is no command "__complet"; weir help lists the commands` + "\n"},
		{[]string{"\x1b[2J"}, `weir: there is no command "[2J"; weir help lists the commands` + "\n"},
		{[]string{"help", "evnts"}, `weir: there is no command "evnts", did you mean "events"?; weir help lists the commands` + "\n"},
		{[]string{"events", "--follw"}, `weir: events: unknown flag --follw, did you mean "--follow"?; see weir help events` + "\n"},
		{[]string{"events", "--limit", "0"}, "weir: events: --limit must be at least 1; see weir help events\n"},
		{[]string{"events", "--since", "yesterday"}, "weir: events: --since: must be a time such as 2026-11-30T03:27:11Z or 2026-11-30, or how long ago, such as 90m or 7d; see weir help events\n"},
		{[]string{"pause"}, `weir: pause: expected "<destination>"; see weir help pause` + "\n"},
		{[]string{"cancel", "k-1"}, `weir: cancel: expected "<destination>"; see weir help cancel` + "\n"},
		{[]string{"redeliver", "k-1"}, "weir: redeliver: name an event and a destination, or give --filter; see weir help redeliver\n"},
		{[]string{"completion", "tcsh"}, `weir: completion: <shell> must be one of "bash","zsh","fish" but got "tcsh"; see weir help completion` + "\n"},
	} {
		if diff := cmp.Diff(c.want, fails(t, quietEnv(io.Discard), c.args...)); diff != "" {
			t.Errorf("%q: %s", c.args, diff)
		}
	}
}

// An address may hold credentials, and is not repeated.
func TestAWrongAddressIsNotRepeated(t *testing.T) {
	if said := fails(t, quietEnv(io.Discard), "status", "--url", "user:pass-word@host"); strings.Contains(said, "pass-word") {
		t.Error(said)
	}
}

// Go's own commands have one dash before a flag.
func TestFlagsMayHaveOneDash(t *testing.T) {
	got := twoDashes([]string{"send", "-count", "-1", "-h", "--id", "-", "-dry-run", "--", "-x-y"})
	if diff := cmp.Diff([]string{"send", "--count", "-1", "-h", "--id", "-", "--dry-run", "--", "-x-y"}, got); diff != "" {
		t.Error(diff)
	}
	for _, word := range []string{"-version", "--version"} {
		var out bytes.Buffer
		if err := Run(t.Context(), quietEnv(&out), []string{word}); err != nil || !strings.HasPrefix(out.String(), "weir devel") {
			t.Errorf("%s: %v, %q", word, err, &out)
		}
	}
}

func TestTimesAreReadAsPeopleWriteThem(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 27, 11, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "1d": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "2w": 14 * 24 * time.Hour,
		"1w1d1h1ms": 8*24*time.Hour + time.Hour + time.Millisecond, "0s": 0, "0d": 0, "5000w": 5000 * 7 * 24 * time.Hour,
		"2026-11-30": 3*time.Hour + 27*time.Minute + 11*time.Second, "2026-11-30T04:27:11+01:00": 0,
	} {
		if got, err := readInstant(text, now); err != nil || now.Sub(got) != want {
			t.Errorf("%s: %s ago, %v, want %s", text, now.Sub(got), err, want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1d-2h", "+1d", "1.5d", "1d1d", "1d1w", "5001w", "99999999d", "-5m", "90", "yesterday", "2026-13-01"} {
		if got, err := readInstant(text, now); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// The help of the commands is a page; the settings are one of their own; and "weir
// help" is both.
func TestHelpAndSettingsAreTwoPages(t *testing.T) {
	var help, settings, both bytes.Buffer
	for out, args := range map[*bytes.Buffer][]string{&help: {"--help"}, &settings: {"help", "settings"}, &both: {"help"}} {
		if err := Run(t.Context(), quietEnv(out), args); err != nil {
			t.Fatal(err)
		}
	}
	if both.String() != help.String()+"\n"+settings.String() {
		t.Errorf("weir help is not both pages:\n%s", &both)
	}
	if strings.Contains(help.String(), "WEIR_") || strings.Count(help.String(), "\n") > 45 {
		t.Errorf("the help has %d lines:\n%s", strings.Count(help.String(), "\n"), &help)
	}
	for _, c := range Commands() {
		if !strings.Contains(help.String(), "  "+c.Name+" ") || c.Help == "" || c.Hidden {
			t.Errorf("the help lists no %s", c.Name)
		}
		if !strings.Contains(c.Detail, "Example") && c.Name != "version" && c.Name != "help" {
			t.Errorf("the help of %s has no example", c.Name)
		}
	}
	if strings.Contains(help.String(), "__complete") || !strings.Contains(settings.String(), "WEIR_SOURCES") {
		t.Errorf("%s\n%s", &help, &settings)
	}
}

func TestCompletionKnowsCommandsFlagsAndWords(t *testing.T) {
	for line, want := range map[string]string{
		"":                          "serve config backup healthcheck status events refusals redeliver cancel pause resume demo flaky send explain version help completion",
		"re":                        "refusals redeliver resume",
		"help se":                   "serve send settings",
		"help --":                   "--env --help --markdown",
		"completion ":               "bash zsh fish",
		"explain re":                "request response",
		"events --state d":          "delivered dead",
		"events --follow --state p": "pending",
		"events --fo":               "--follow",
		"events --state=d":          "--state=delivered --state=dead",
		"events --state = d":        "delivered dead",
		"events --state =":          "pending delivered dead",
		"events --limit 3 --s":      "--since --source --state",
		"pause crm ":                "--help --json --url",
		"pause ":                    "",
		"send github ":              "", // a file
		"send --id ":                "", // any text
		"nonsense ":                 "",
	} {
		var out bytes.Buffer
		args := append([]string{"__complete", "--"}, strings.Split(line, " ")...)
		if err := Run(t.Context(), quietEnv(&out), args); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.Join(strings.Fields(out.String()), " ")); diff != "" {
			t.Errorf("weir %s: %s", line, diff)
		}
	}
}

// The script for bash gives the words behind "weir" to the program, and what it
// prints to the shell.
func TestTheScriptForBashWorks(t *testing.T) {
	var script bytes.Buffer
	if err := Run(t.Context(), quietEnv(&script), []string{"completion", "bash"}); err != nil {
		t.Fatal(err)
	}
	script.WriteString(`
weir() { printf '<%s>\n' "$@"; }
COMP_WORDS=(weir events --key 'a b' --st) COMP_CWORD=4
_weir
printf '%s\n' "${COMPREPLY[@]}"
`)
	bash := exec.CommandContext(t.Context(), "bash", "--norc")
	bash.Stdin = &script
	out, err := bash.CombinedOutput()
	if diff := cmp.Diff("<__complete>\n<-->\n<events>\n<--key>\n<a b>\n<--st>\n", string(out)); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	for _, shell := range []string{"zsh", "fish"} {
		var other bytes.Buffer
		if err := Run(t.Context(), quietEnv(&other), []string{"completion", shell}); err != nil || !strings.Contains(other.String(), "weir __complete -- ") {
			t.Errorf("%s: %v\n%s", shell, err, &other)
		}
	}
}

// Every command that shows something does so as JSON, one value a line.
func TestEveryCommandThatShowsSomethingKnowsJSON(t *testing.T) {
	s := serveFor(t, refusedOnce())
	for _, c := range []struct {
		call    string
		members string // of the first line
	}{
		{"send github --id k-1 --json", "sender_id status id key duplicate reopened event"},
		{"status --json", "destinations sources stats"},
		{"status k-1 --json", "id key source deliveries received_at"},
		{"events --json", "id key source deliveries received_at"},
		{"redeliver --filter state=dead --json", "matched redelivered skipped more dry_run"},
		{"redeliver k-1 default --json", "event_id destination state"},
		{"pause default --json", "name state hold queue"},
		{"resume default --json", "name state hold queue"},
		{"version --json", "version commit date go platform"},
		{"backup --json " + t.TempDir() + "/copy.db", "from to"},
	} {
		out, _ := s.call(t, strings.Fields(c.call)...)
		for line := range strings.Lines(out) {
			var value map[string]any
			if err := json.Unmarshal([]byte(line), &value); err != nil {
				t.Fatalf("weir %s: %v in %q", c.call, err, line)
			}
			for member := range strings.FieldsSeq(c.members) {
				if _, there := value[member]; !there {
					t.Errorf("weir %s: no %s in %s", c.call, member, line)
				}
			}
		}
		if out == "" {
			t.Errorf("weir %s prints nothing", c.call)
		}
	}
}

// --url goes before WEIR_URL, for every command that asks a service.
func TestURLIsAFlagOfEveryClientCommand(t *testing.T) {
	deaf := "http://" + deafAddress(t)
	for _, call := range []string{"status", "status k-1", "events", "redeliver k-1 default", "redeliver --filter state=dead", "cancel k-1 default", "pause default", "resume default", "send github"} {
		w := quietEnv(io.Discard)
		w.Environ = environ("WEIR_API_TOKEN="+testToken, "WEIR_URL=http://192.0.2.1:1")
		err := Run(t.Context(), w, append(strings.Fields(call), "--url", deaf))
		if err == nil || !strings.HasSuffix(err.Error(), "connection refused (is --url right?)") {
			t.Errorf("weir %s: %v", call, err)
		}
	}
}

func TestPauseResumeAndCancel(t *testing.T) {
	s := serveFor(t, flaky.Script{})
	said := func(args ...string) string {
		t.Helper()
		out, err := s.call(t, args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out
	}
	says(t, said("pause", "default"), "default: paused", "paused by an operator", "none until an operator resumes it")
	says(t, said("send", "github", "--id", "k-1"), "pending", "default: waits for paused")
	says(t, said("status", "k-1"), "0 of 10 attempts used; expires ")
	says(t, said("cancel", "k-1", "default"), " to default is dead: cancelled (cancelled by an operator)")
	says(t, said("redeliver", "k-1", "default"), " to default is pending again")
	says(t, said("resume", "default"), "default: ready")
	waitFor(t, "the delivery", func() bool { return s.downstream.Stats().Accepted == 1 })
	waitFor(t, "its record", func() bool { return s.firstEvent(t).Deliveries[0].State == webhook.Delivered })
	if _, err := s.call(t, "cancel", "k-1", "default"); ExitStatus(err, io.Discard) != ExitFailure {
		t.Errorf("a delivered one was cancelled: %v", err)
	}
	if said := fails(t, s.env, "pause", "nope"); said != "weir: there is no destination \"nope\"; there is default\n" {
		t.Error(said)
	}
	if _, err := s.call(t, "cancel", "k-1", "nope"); err == nil || !strings.HasSuffix(err.Error(), `has no delivery to "nope"; there is default`) {
		t.Errorf("got %v", err)
	}
}

// Two senders may use the same id: then nothing is done, and both are named.
func TestAKeyOfTwoEventsNamesNone(t *testing.T) {
	s := serveFor(t, flaky.Script{}, "WEIR_SOURCES=github,other", "WEIR_SOURCE_OTHER_SCHEME=github", "WEIR_SOURCE_OTHER_SECRET="+testSecret)
	for _, source := range []string{"github", "other"} {
		if out, err := s.call(t, "send", source, "--id", "k-1"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, verb := range []string{"cancel", "redeliver"} {
		says(t, fails(t, s.env, verb, "k-1", "default"), `several events have the key "k-1"; name one by its id: `, " of other, ", " of github")
	}
	out, err := s.call(t, "status", "k-1")
	if err != nil || strings.Count(out, "key       k-1") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// Where no response came the reason is told without the connection's address.
func TestNoResponseIsToldInWords(t *testing.T) {
	s := serveFor(t, flaky.Script{}, "WEIR_FORWARD_URL=http://"+deafAddress(t))
	out, err := s.call(t, "send", "github", "--id", "k-1")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "pending", "; no response: connection refused\n")
	if out, err = s.call(t, "status", "k-1"); err != nil {
		t.Fatal(err)
	}
	says(t, out, "answer no response: connection refused\n")
}
