package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// names is a list of names of destinations.
type names []string

var nameForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// Decode reads a list of names.
func (n *names) Decode(value string) error {
	list := splitList(value)
	for i, name := range list {
		if !nameForm.MatchString(name) {
			return errNames
		}
		if slices.Contains(list[:i], name) {
			return errors.New("has a name more than once; remove the repetition")
		}
	}
	*n = list
	return nil
}

var errNames = errors.New("must be names of 1 to 40 of the characters a-z, 0-9 and -, separated by commas")

func (names) kind() string     { return "names" }
func (n names) String() string { return strings.Join(n, ",") }

// sources is the list WEIR_SOURCES, each with its settings.
type sources []Source

// Decode reads the list of names. Of a name that is there twice it takes the
// first; checkGlobal reports the other.
func (s *sources) Decode(value string) error {
	list, err := distinctNames(value)
	if err != nil {
		return err
	}
	*s = nil
	for _, name := range list {
		*s = append(*s, Source{Name: name})
	}
	return nil
}

func (sources) kind() string     { return "names" }
func (s sources) String() string { return strings.Join(s.names(), ",") }

// GoString keeps the secrets out of %#v.
func (s sources) GoString() string { return s.String() }

func (s sources) names() []string {
	var list []string
	for _, source := range s {
		list = append(list, source.Name)
	}
	return list
}

// destinations is the list WEIR_DESTINATIONS, each with its settings.
type destinations []Destination

// Decode reads the list of names, in the way of sources.
func (d *destinations) Decode(value string) error {
	list, err := distinctNames(value)
	if err != nil {
		return err
	}
	*d = nil
	for _, name := range list {
		*d = append(*d, Destination{Name: name})
	}
	return nil
}

func (destinations) kind() string { return "names" }

func (d destinations) String() string {
	var list []string
	for _, destination := range d {
		list = append(list, destination.Name)
	}
	return strings.Join(list, ",")
}

// GoString keeps the secrets out of %#v.
func (d destinations) GoString() string { return d.String() }

// distinctNames reads a list of names, each taken once.
func distinctNames(value string) ([]string, error) {
	var list []string
	for _, name := range splitList(value) {
		if !nameForm.MatchString(name) {
			return nil, errNames
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// splitList splits at commas, trims, and leaves out what is empty.
func splitList(value string) []string {
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
