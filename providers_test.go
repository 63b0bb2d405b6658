package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/config"
	"weir/service/metrics"
)

// providerPages returns the text of each page of docs/providers by its name.
func providerPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, name := range []string{
		"README", "github", "gitlab", "stripe", "shopify", "slack", "standard", "twilio", "discord", "meta", "zoom",
	} {
		text, err := os.ReadFile(filepath.Join("docs", "providers", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	return pages
}

// TestProviderPagesAreLinked from the README and from their own index, and link
// to what exists.
func TestProviderPagesAreLinked(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := providerPages(t)
	files, err := filepath.Glob("docs/providers/*.md")
	if err != nil || len(files) != len(pages) {
		t.Errorf("%d files, want %d pages (%v)", len(files), len(pages), err)
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for name, text := range pages {
		if !strings.Contains(string(readme), "(docs/providers/"+name+".md)") {
			t.Errorf("README.md does not link to %s", name)
		}
		if name != "README" && !strings.Contains(pages["README"], "("+name+".md)") {
			t.Errorf("the index does not link to %s", name)
		}
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(found[1], "://") {
				checkLink(t, filepath.Join("docs", "providers", name+".md"), found[1])
			}
		}
	}
}

// TestProviderPagesNameSettingsThatExist, and metrics and schemes.
func TestProviderPagesNameSettingsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, name := range config.Names() {
		known[strings.Replace(name, "<NAME>_", "", 1)] = true
	}
	named := regexp.MustCompile(`WEIR_[A-Z0-9_]+`)
	ofSource := regexp.MustCompile(`^WEIR_SOURCE_[A-Z0-9]+_`)
	metric := regexp.MustCompile(`weir_[a-z_]+`)
	for name, text := range providerPages(t) {
		for _, setting := range named.FindAllString(text, -1) {
			if !known[ofSource.ReplaceAllString(setting, "WEIR_SOURCE_")] {
				t.Errorf("%s names %s, which does not exist", name, setting)
			}
		}
		for _, word := range metric.FindAllString(text, -1) {
			if !slices.ContainsFunc(metrics.Families(), func(f metrics.Family) bool { return f.Name == word }) {
				t.Errorf("%s names the metric %s, which does not exist", name, word)
			}
		}
	}
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
	pages := providerPages(t)
	for _, scheme := range []string{"github", "gitlab", "stripe", "shopify", "slack", "standard", "twilio", "discord", "meta", "zoom"} {
		timed := config.SignsTime(scheme)
		if tells := strings.Contains(pages[scheme], "_TOLERANCE`"); tells != timed {
			t.Errorf("%s: has a timestamp %t, its page tells the tolerance %t", scheme, timed, tells)
		}
		if untimed := strings.Contains(pages[scheme], "There is no timestamp"); untimed == timed {
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
