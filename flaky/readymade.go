package flaky

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed scripts/*.json
var scripts embed.FS

// Names lists the scripts that come with weir, in the order of the alphabet:
//
//   - daily-quota: a daily allowance that is spent, given anew after 9 hours
//   - outage-then-cap: three seconds of 503, and 60 requests a minute
//   - too-large: bodies above 10,000 bytes are refused with 429 and figures
func Names() []string {
	files, err := scripts.ReadDir("scripts")
	if err != nil {
		return nil
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".json"))
	}
	return names
}

// ReadyMade returns one of the scripts of [Names]; any other name is an error
// that lists them.
func ReadyMade(name string) (Script, error) {
	text, err := scripts.ReadFile("scripts/" + name + ".json")
	if err != nil {
		return Script{}, fmt.Errorf("there is no script %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return Parse(text)
}
