package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/outbound"
)

// headerName is the name of a header field (a token of RFC 9110 section 5.6.2).
type headerName string

var tokenForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")

func (h *headerName) Decode(value string) error {
	if !tokenForm.MatchString(value) {
		return errors.New("want the name of a header")
	}
	*h = headerName(value)
	return nil
}

func (headerName) kind() string     { return "header name" }
func (h headerName) String() string { return string(h) }

// headerNames is a list of them.
type headerNames []string

func (h *headerNames) Decode(value string) error {
	list := splitList(value)
	for _, name := range list {
		if !tokenForm.MatchString(name) {
			return errors.New("want names of headers, separated by commas")
		}
	}
	*h = list
	return nil
}

func (headerNames) kind() string     { return "header names" }
func (h headerNames) String() string { return strings.Join(h, ",") }

// headerObject is a JSON object of header fields. The values are secrets.
type headerObject map[string]string

func (h *headerObject) Decode(value string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &object); err != nil || object == nil {
		return errors.New(`want a JSON object such as {"Authorization":"Bearer …"}`)
	}
	fields := make(headerObject, len(object))
	seen := make(map[string]bool, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		canonical := http.CanonicalHeaderKey(name)
		var field string
		switch {
		case !tokenForm.MatchString(name):
			return errors.New("a member's name is not the name of a header")
		case json.Unmarshal(object[name], &field) != nil || string(object[name]) == "null":
			return errors.New("want a text for each header")
		case strings.ContainsFunc(field, isControl):
			return errors.New("a header's value holds a control character")
		case outbound.Framing(canonical):
			return errors.New("names a header that belongs to the connection")
		case seen[canonical]:
			return errors.New("names one header twice")
		}
		seen[canonical] = true
		fields[name] = field
	}
	*h = fields
	return nil
}

// isControl reports what must not stand in a header's value (RFC 9110 section
// 5.5).
func isControl(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }

func (headerObject) kind() string { return "JSON object" }

// String says how many headers there are: even a name may tell too much.
func (h headerObject) String() string {
	if len(h) == 0 {
		return ""
	}
	return fmt.Sprintf("set (%d headers)", len(h))
}

// GoString keeps the values out of %#v.
func (h headerObject) GoString() string { return strconv.Quote(h.String()) }
