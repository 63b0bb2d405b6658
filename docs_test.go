package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/config"
	"weir/dispatch"
	"weir/outbound"
	"weir/webhook"
)

// between returns what a document has between two marks.
func between(t *testing.T, path, mark string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(text), "<!-- "+mark+":begin -->")
	inside, _, ends := strings.Cut(rest, "<!-- "+mark+":end -->")
	if !begins || !ends {
		t.Fatalf("%s lacks the marks of %s", path, mark)
	}
	return strings.TrimSpace(inside)
}

// fateOf tells what an outcome means for the delivery.
func fateOf(r dispatch.Row) string {
	switch r.Fate {
	case dispatch.Done:
		return "delivered"
	case dispatch.Die:
		return fmt.Sprintf("dead, `%s`", r.Reason)
	case dispatch.Backoff:
		return "tried again, later each time; dead, `exhausted`, when all attempts are spent"
	case dispatch.SlowTries:
		return fmt.Sprintf("tried again after 30 s and 5 min; then dead, `%s`", r.Reason)
	default:
		return "waits"
	}
}

// effectOf tells what an outcome means for the destination.
func effectOf(r dispatch.Row) string {
	switch {
	case r.Outcome == webhook.OutcomeDelivered:
		return "its holds end"
	case r.Outcome == webhook.OutcomeMisdirected:
		return fmt.Sprintf("held, `%s`, at the third in a row", r.Hold)
	case r.Outcome == webhook.OutcomeTransient:
		return "held, `retry_after`, where it says when to come back"
	case r.Hold != "":
		return fmt.Sprintf("held, `%s`", r.Hold)
	}
	return "–"
}

// outcomeTable is the table of docs/outcomes.md.
func outcomeTable() string {
	votes := map[dispatch.Vote]string{dispatch.Abstain: "–", dispatch.Success: "success", dispatch.Failure: "failure"}
	table := "| outcome | spent | the delivery | the destination | breaker | in flight | second payload |\n|---|---|---|---|---|---|---|\n"
	for _, r := range dispatch.Table() {
		spent, halved, witnessed := "no", "–", "–"
		if r.Spends {
			spent = "yes"
		}
		if r.Throttles {
			halved = "halved"
		}
		if r.Witnessed {
			witnessed = "asked when presumed"
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s |\n", r.Outcome, spent, fateOf(r), effectOf(r), votes[r.Vote], halved, witnessed)
	}
	return strings.TrimSpace(table)
}

// The table of outcomes is in the documents and in one place in the code.
func TestB33OutcomeTableIsTheOneThatDecides(t *testing.T) {
	if diff := cmp.Diff(outcomeTable(), between(t, "docs/outcomes.md", "outcomes")); diff != "" {
		t.Errorf("docs/outcomes.md has another table (+) than the code (-):\n%s", diff)
	}
}

func TestB33StatusesAreReadAsDocumented(t *testing.T) {
	documented := map[int]webhook.Outcome{}
	row := regexp.MustCompile(`(?m)^\| ([a-z_]+) \| ([0-9, ]+) \|$`)
	for _, found := range row.FindAllStringSubmatch(between(t, "docs/outcomes.md", "statuses"), -1) {
		for text := range strings.SplitSeq(found[2], ", ") {
			status, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			documented[status] = webhook.Outcome(found[1])
		}
	}
	for status, want := range documented {
		answer := outbound.Read(outbound.Response{Status: status, Header: http.Header{}}, time.Now())
		if answer.Outcome != want {
			t.Errorf("%d is %s, documented as %s", status, answer.Outcome, want)
		}
	}
	for _, status := range []int{
		400, 401, 403, 404, 405, 409, 410, 415, 422, 451, 408, 421, 425, 429, 500, 501, 502, 503, 504, 507, 301, 304, 204, 202,
	} {
		if documented[status] == "" {
			t.Errorf("%d is not documented", status)
		}
	}
}

// Every hold, and everything that a delivery can wait for, is in docs/holds.md
// with what to do.
func TestEveryHoldIsDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/holds.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, cell := range regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\|").FindAllStringSubmatch(string(text), -1) {
		for word := range strings.SplitSeq(cell[1], ", ") {
			named = append(named, strings.Trim(word, "`"))
		}
	}
	var words []string
	for _, word := range webhook.WaitingFors() {
		words = append(words, string(word))
	}
	slices.Sort(named)
	slices.Sort(words)
	if diff := cmp.Diff(words, named); diff != "" {
		t.Errorf("documented (+) and existing (-):\n%s", diff)
	}
}

// providerPages returns the text of each page of docs/providers by its name.
func providerPages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("docs/providers/*.md")
	if err != nil || len(files) < 11 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	pages := map[string]string{}
	for _, file := range files {
		pages[strings.TrimSuffix(filepath.Base(file), ".md")] = read(t, file)
	}
	return pages
}

// TestProviderPagesHaveSettingsThatLoad, and tell the address that comes of
// them, and everything that a reader looks for.
func TestProviderPagesHaveSettingsThatLoad(t *testing.T) {
	for name, text := range providerPages(t) {
		if name == "README" {
			continue
		}
		pasted := fences(text, "sh settings")
		if len(pasted) != 1 {
			t.Errorf("%s has %d blocks of settings", name, len(pasted))
			continue
		}
		environ := append(strings.Split(strings.TrimSpace(pasted[0]), "\n"), "WEIR_API_TOKEN=a-token-of-the-tests")
		got, err := config.Load(environ)
		if err != nil || len(got.Warnings) > 0 {
			t.Errorf("%s: %v, warnings %q", name, err, got.Warnings)
			continue
		}
		source := got.Sources[0]
		if string(source.Scheme) != name || !strings.Contains(text, "`"+got.RegisterURL(source)+"`") {
			t.Errorf("%s: the scheme is %s, the address %s", name, source.Scheme, got.RegisterURL(source))
		}
		for _, part := range []string{"**Signed**", "**Key**", "**Patience**", "**Redeliver**"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s says nothing under %s", name, part)
			}
		}
	}
}

// TestProviderPagesTellTheDefaultsOfTheirSchemes where they speak of them.
func TestProviderPagesTellTheDefaultsOfTheirSchemes(t *testing.T) {
	for scheme, text := range providerPages(t) {
		if scheme == "README" {
			continue
		}
		timed := config.SignsTime(scheme)
		if tells := strings.Contains(text, "_TOLERANCE`"); tells != timed {
			t.Errorf("%s: has a timestamp %t, its page tells the tolerance %t", scheme, timed, tells)
		}
		if untimed := strings.Contains(text, "There is no timestamp"); untimed == timed {
			t.Errorf("%s: has a timestamp %t, its page denies it %t", scheme, timed, untimed)
		}
	}
}

// fences returns the code of a page's blocks that are fenced with this word.
func fences(page, word string) []string {
	var blocks []string
	for _, found := range regexp.MustCompile("(?ms)^```"+word+"\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, found[1])
	}
	return blocks
}

// TestThreatModelTellsWhichSchemesHaveATime: those without one can be replayed.
func TestThreatModelTellsWhichSchemesHaveATime(t *testing.T) {
	rows := map[bool][]string{}
	for _, scheme := range config.SchemeNames() {
		rows[config.SignsTime(scheme)] = append(rows[config.SignsTime(scheme)], "`"+scheme+"`")
	}
	table := between(t, "docs/threat-model.md", "times")
	for signed, label := range map[bool]string{true: "yes", false: "no"} {
		if row := "| " + label + " | " + strings.Join(rows[signed], ", ") + " |"; !strings.Contains(table, row) {
			t.Errorf("docs/threat-model.md lacks the row\n%s", row)
		}
	}
}
