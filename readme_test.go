package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/cli"
)

// TestDocumentsLinkToWhatExists: relative links lead to files and headings.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(found[1], "://") {
				checkLink(t, page, found[1])
			}
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
	text, err := os.ReadFile(file)
	if err != nil || !slices.Contains(anchorsOf(string(text)), anchor) {
		t.Errorf("%s links to %s, which has no such heading (%v)", page, target, err)
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
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cli.Commands() {
		if !strings.Contains(string(changes), "`"+c.Name+"`") {
			t.Errorf("CHANGELOG.md does not name the command %s", c.Name)
		}
	}
}
