package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/config"
)

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
