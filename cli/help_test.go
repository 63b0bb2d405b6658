package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"weir/config"
)

// written returns what a function writes.
func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var page bytes.Buffer
	if err := write(&page); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestHelpListsEverySetting(t *testing.T) {
	page := written(t, printSettings)
	for _, g := range config.Groups() {
		for _, v := range g.List {
			if !strings.Contains(page, "  "+v.Key+config.Star(v)+"\n") || !strings.Contains(page, "default: "+v.Fallback()) {
				t.Errorf("%s is missing, or its default", v.Key)
			}
		}
	}
	for _, scheme := range config.SchemeNames() {
		if !strings.Contains(page, scheme) {
			t.Errorf("the scheme %s is missing", scheme)
		}
	}
	for line := range strings.SplitSeq(page, "\n") {
		if len(line) > 90 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}

func TestEveryCommandHasItsHelp(t *testing.T) {
	for _, c := range Commands() {
		var help, flag strings.Builder
		err := errors.Join(
			Run(t.Context(), Env{Stdout: &help}, []string{"help", c.Name}),
			Run(t.Context(), Env{Stdout: &flag}, []string{c.Name, "-h"}),
		)
		if err != nil || help.String() != flag.String() {
			t.Errorf("weir help %s: %v\n%s\nweir %s -h:\n%s", c.Name, err, help.String(), c.Name, flag.String())
		}
		if c.Name != "version" && !strings.Contains(help.String(), "Usage: weir ") {
			t.Errorf("weir help %s tells nothing more than\n%s", c.Name, help.String())
		}
	}
}
