package config

import (
	"fmt"
	"slices"
	"strings"
)

// problem is one error in one variable. It never holds the value.
type problem struct {
	key    string
	reason string
}

// problems collects every error, so that all are reported at once, and the
// warnings, which do not keep the service from starting.
type problems struct {
	faults   []problem
	warnings []string
}

// add records an error. Each variable has one at most: what follows from the
// first is noise.
func (p *problems) add(key, format string, args ...any) {
	if !p.has(key) {
		p.faults = append(p.faults, problem{key, fmt.Sprintf(format, args...)})
	}
}

// has reports whether the variable has an error.
func (p *problems) has(key string) bool {
	return slices.ContainsFunc(p.faults, func(fault problem) bool { return fault.key == key })
}

// about reports whether any variable with the prefix has an error.
func (p *problems) about(prefix string) bool {
	return slices.ContainsFunc(p.faults, func(fault problem) bool { return strings.HasPrefix(fault.key, prefix) })
}

// only returns the errors of some variables, or of the files that hold them, as
// one error; nil without any. Commands that need few settings must work
// where others are wrong.
func (p *problems) only(wanted func(key string) bool) error {
	var kept problems
	for _, fault := range p.faults {
		if wanted(strings.TrimSuffix(fault.key, fileSuffix)) {
			kept.faults = append(kept.faults, fault)
		}
	}
	return kept.err()
}

// among selects the named variables.
func among(keys ...string) func(string) bool {
	return func(key string) bool { return slices.Contains(keys, key) }
}

// warn records something that is valid but probably a mistake.
func (p *problems) warn(key, format string, args ...any) {
	p.warnings = append(p.warnings, key+": "+fmt.Sprintf(format, args...))
}

// err returns all errors as one, nil without any.
func (p *problems) err() error {
	var list Errors
	for _, fault := range p.faults {
		list = append(list, fault.key+": "+fault.reason)
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// Errors is every error in the settings that matters to the caller, each
// with the name of its variable and never with its value.
type Errors []string

// Error is one line for one error, and a list for several.
func (e Errors) Error() string {
	if len(e) == 1 {
		return "a setting is wrong: " + e[0]
	}
	return fmt.Sprintf("%d settings are wrong:\n  %s", len(e), strings.Join(e, "\n  "))
}
