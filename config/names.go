package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// names is a list of names of sources or destinations.
type names []string

var nameForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

func (n *names) Decode(value string) error {
	list := splitList(value)
	for i, name := range list {
		if !nameForm.MatchString(name) {
			return errors.New("want names of 1 to 40 of the characters a-z, 0-9 and -, separated by commas")
		}
		if slices.Contains(list[:i], name) {
			return errors.New("names the same twice")
		}
	}
	*n = list
	return nil
}

func (names) kind() string     { return "names" }
func (n names) String() string { return strings.Join(n, ",") }

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

// keyPlace says where a sender's own id of the event is.
type keyPlace string

var pathForm = regexp.MustCompile(`^[^.\s]+(\.[^.\s]+)*$`)

func (k *keyPlace) Decode(value string) error {
	place, name, _ := strings.Cut(value, ":")
	switch {
	case value == "body" || value == "none":
	case place == "header" && tokenForm.MatchString(name):
	case place == "json" && len(name) <= 200 && pathForm.MatchString(name):
	default:
		return errors.New("want header:NAME, json:path.to.id, body or none")
	}
	*k = keyPlace(value)
	return nil
}

func (keyPlace) kind() string     { return "place" }
func (k keyPlace) String() string { return string(k) }

// tokenPlace says where a token is sent.
type tokenPlace string

func (t *tokenPlace) Decode(value string) error {
	place, name, _ := strings.Cut(value, ":")
	switch {
	case value == "bearer":
	case (place == "header" || place == "query") && tokenForm.MatchString(name):
	default:
		return errors.New("want bearer, header:NAME or query:NAME")
	}
	*t = tokenPlace(value)
	return nil
}

func (tokenPlace) kind() string     { return "place" }
func (t tokenPlace) String() string { return string(t) }

// hmacTemplate says what is signed.
type hmacTemplate string

var templatePart = regexp.MustCompile(`\{(timestamp|id|method|url|body)\}`)

// Decode wants {body} in it: a signature that leaves it out proves nothing
// about it.
func (t *hmacTemplate) Decode(value string) error {
	rest := templatePart.ReplaceAllString(value, "")
	if strings.ContainsAny(rest, "{}") {
		return errors.New("want the parts {timestamp}, {id}, {method}, {url} and {body} and no other braces")
	}
	if !strings.Contains(value, "{body}") {
		return errors.New("want {body} in it: what is not signed is not proved")
	}
	*t = hmacTemplate(value)
	return nil
}

func (hmacTemplate) kind() string     { return "template" }
func (t hmacTemplate) String() string { return string(t) }

// has reports whether a part stands in the template.
func (t hmacTemplate) has(part string) bool { return strings.Contains(string(t), "{"+part+"}") }
