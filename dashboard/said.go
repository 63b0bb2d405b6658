package dashboard

import (
	"maps"
	"slices"
	"strconv"

	"weir/webhook"
)

// The bounds of what is shown of one answer. The store keeps less; a page
// holds whatever comes.
const (
	maxSaid    = 4 << 10
	maxFields  = 100
	maxField   = 1 << 10
	maxHistory = 200
)

// saidView is what a downstream said.
type saidView struct {
	// Figures are what the answer named in numbers.
	Figures []field
	Fields  []field
	Body    string
	Note    string
}

// field is a name and its value.
type field struct {
	Name  string
	Value string
}

// Nothing reports that nothing was said.
func (s saidView) Nothing() bool {
	return len(s.Figures) == 0 && len(s.Fields) == 0 && s.Body == "" && s.Note == ""
}

// said makes the view of evidence.
func said(e webhook.Evidence) saidView {
	view := saidView{Body: clip(e.Body, maxSaid), Note: clip(e.Note, maxField)}
	for _, figure := range []struct {
		name  string
		value *int64
	}{{"limit", e.Limit}, {"used", e.Used}, {"requested", e.Requested}} {
		if figure.value != nil {
			view.Figures = append(view.Figures, field{figure.name, strconv.FormatInt(*figure.value, 10)})
		}
	}
	if e.Window != "" {
		view.Figures = append(view.Figures, field{"window", clip(e.Window, maxField)})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		if len(view.Fields) == maxFields {
			break
		}
		view.Fields = append(view.Fields, field{clip(name, maxField), clip(e.Headers[name], maxField)})
	}
	return view
}
