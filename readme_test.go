package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/cli"
	"weir/config"
	"weir/service/metrics"
)

// documents returns the paths of all documents.
func documents(t *testing.T) []string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d documents, %v", pattern, len(found), err)
		}
		pages = append(pages, found...)
	}
	return pages
}

// read returns the text of a document.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocumentsLinkToWhatExists: relative links lead to files and headings.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, page), -1) {
			if !strings.Contains(found[1], "://") {
				checkLink(t, page, found[1])
			}
		}
	}
}

// TestReadmeIsShort: whoever comes by reads it to the end.
func TestReadmeIsShort(t *testing.T) {
	if size := len(read(t, "README.md")); size > 9<<10 {
		t.Errorf("README.md has %d bytes, at most %d", size, 9<<10)
	}
}

// TestReadmeLeadsToEveryPage: each page of docs is linked from the README; those
// of the folders below from the index of their folder.
func TestReadmeLeadsToEveryPage(t *testing.T) {
	for _, page := range documents(t) {
		index, target := "README.md", page
		if folder := filepath.Dir(page); folder != "." && folder != "docs" && filepath.Base(page) != "README.md" {
			index, target = filepath.Join(folder, "README.md"), filepath.Base(page)
		}
		if page != index && !strings.Contains(read(t, index), "("+target+")") {
			t.Errorf("%s does not link to %s", index, target)
		}
	}
}

// TestPicturesAreSmall: a clone stays small, and a page loads at once.
func TestPicturesAreSmall(t *testing.T) {
	pictures, err := filepath.Glob("docs/images/*")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("%d pictures, %v", len(pictures), err)
	}
	for _, picture := range pictures {
		if size := len(read(t, picture)); size > 150_000 {
			t.Errorf("%s has %d bytes", picture, size)
		}
	}
}

// checkLink fails unless a link's file and heading exist.
func checkLink(t *testing.T, page, target string) {
	t.Helper()
	path, anchor, _ := strings.Cut(target, "#")
	file := filepath.Join(filepath.Dir(page), path)
	if path == "" {
		file = page
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%s links to %s: %v", page, target, err)
		return
	}
	if anchor == "" {
		return
	}
	if !slices.Contains(anchorsOf(read(t, file)), anchor) {
		t.Errorf("%s links to %s, which has no such heading", page, target)
	}
}

// anchorsOf returns the anchors of a page's headings.
func anchorsOf(page string) []string {
	var anchors []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		words := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(words, " ", "-"))
	}
	return anchors
}

// TestChangelogNamesEveryCommand: nothing is left out when one is added.
func TestChangelogNamesEveryCommand(t *testing.T) {
	changes := read(t, "CHANGELOG.md")
	for _, c := range cli.Commands() {
		if !strings.Contains(changes, "`"+c.Name+"`") {
			t.Errorf("CHANGELOG.md does not name the command %s", c.Name)
		}
	}
}

// TestDocumentsNameSettingsThatExist, and metrics.
func TestDocumentsNameSettingsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, name := range config.Names() {
		known[strings.Replace(name, "<NAME>_", "", 1)] = true
	}
	// What begins with the word of a placeholder or ends in _ or … is a part of a name.
	setting := regexp.MustCompile(`\bWEIR_(?:[A-Z0-9_]|<NAME>)+[*…]?`)
	ofOne := regexp.MustCompile(`^WEIR_(SOURCE|DESTINATION)_(?:[A-Z0-9]+|<NAME>)_`)
	metric := regexp.MustCompile(`\bweir_[a-z_]+[*]?`)
	for _, page := range documents(t) {
		for _, name := range setting.FindAllString(read(t, page), -1) {
			plain := strings.TrimSuffix(ofOne.ReplaceAllString(name, "WEIR_${1}_"), "_FILE")
			if !known[plain] && !strings.ContainsAny(name[len(name)-1:], "_*…") {
				t.Errorf("%s names %s, which does not exist", page, name)
			}
		}
		for _, name := range metric.FindAllString(read(t, page), -1) {
			// weir_data is the volume of fly.toml.
			if !strings.HasSuffix(name, "_") && name != "weir_data" && !isMetric(name) {
				t.Errorf("%s names the metric %s, which does not exist", page, name)
			}
		}
	}
}

// TestArchitectureNamesFilesThatExist, and every package.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	page := read(t, "docs/architecture.md")
	named := regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_*]+)*(?:\\.(?:go|md|sql|json|txt)|/[a-z0-9_]+))`").FindAllStringSubmatch(page, -1)
	if len(named) < 50 {
		t.Errorf("%d paths are found on the page", len(named))
	}
	for _, path := range named {
		if found, err := filepath.Glob(path[1]); err != nil || len(found) == 0 {
			t.Errorf("there is no %s (%v)", path[1], err)
		}
	}
	for _, p := range goList(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, "weir/")
		if name == "weir" {
			name = "main"
		}
		if !strings.Contains(page, "**"+name+"**") {
			t.Errorf("nothing is said about the package %s", name)
		}
	}
}

// isMetric reports whether there is such a metric, or such a part of a histogram.
func isMetric(name string) bool {
	return slices.ContainsFunc(metrics.Families(), func(f metrics.Family) bool {
		return f.Name == name || slices.Contains([]string{"_bucket", "_sum", "_count"}, strings.TrimPrefix(name, f.Name))
	})
}

// TestDocumentsNameCommandsThatExist wherever code says "weir something".
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	code := regexp.MustCompile("(?ms)^```(?:sh|bash)[a-z ]*\n(.*?)^```$|`([^`\n]+)`")
	called := regexp.MustCompile(`(?m)(?:^|[ /(])weir ([a-z]+)`)
	commands := map[string]bool{}
	for _, c := range cli.Commands() {
		commands[c.Name] = true
	}
	for _, page := range documents(t) {
		if page == "docs/logs.md" {
			continue // messages begin with weir, too
		}
		for _, found := range code.FindAllStringSubmatch(read(t, page), -1) {
			for _, word := range called.FindAllStringSubmatch(found[1]+found[2], -1) {
				if !commands[word[1]] {
					t.Errorf("%s calls weir %s, which does not exist", page, word[1])
				}
			}
		}
	}
}
