package handler

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"weir/webhook"
)

// sourceView is a source as clients see it.
type sourceView struct {
	Name           string   `json:"name"`
	Scheme         string   `json:"scheme"`
	To             []string `json:"to"`
	LastAcceptedAt stamp    `json:"last_accepted_at"`
	// Results counts since the process began; every result is there.
	Results map[webhook.Result]int64 `json:"results"`
	// Secret is the one that matched last: current or previous.
	Secret          *string `json:"secret"`
	SecretMatchedAt stamp   `json:"secret_matched_at"`
}

// listSources is GET /v1/sources. What came for sources that are not
// configured is shown under [UnknownSource].
func (h *api) listSources(r *http.Request) (result, error) {
	if err := queryFields(r.URL.RawQuery).err; err != nil {
		return result{}, err
	}
	names := slices.Sorted(maps.Keys(h.config.Sources))
	last := map[string]time.Time{}
	if h.config.History != nil {
		found, err := h.config.History.LastAccepted(r.Context(), names)
		if err != nil {
			return result{}, err
		}
		maps.Copy(last, found)
	}
	items := make([]sourceView, 0, len(names)+1)
	for _, name := range append(names, UnknownSource) {
		source, configured := h.config.Sources[name]
		if !configured && !h.config.Stats.knows(name) {
			continue
		}
		view := h.config.Stats.source(name)
		view.Scheme, view.To = source.Scheme, append([]string{}, source.To...)
		view.LastAcceptedAt = stamp(webhook.Later(time.Time(view.LastAcceptedAt), last[name]))
		items = append(items, view)
	}
	return ok(page{Items: items})
}

// knows reports whether anything was counted under a name.
func (s *Stats) knows(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sources[name] != nil
}

// source returns the counts of a source.
func (s *Stats) source(name string) sourceView {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := sourceView{Name: name, Results: map[webhook.Result]int64{}}
	for _, result := range webhook.Results() {
		view.Results[result] = 0
	}
	found, known := s.sources[name]
	if !known {
		return view
	}
	maps.Copy(view.Results, found.results)
	view.LastAcceptedAt = stamp(found.lastAccepted)
	if found.lastSecret >= 0 {
		view.Secret, view.SecretMatchedAt = orNull(secretName(found.lastSecret)), stamp(found.secretAt)
	}
	return view
}

// secretName names the position of a secret.
func secretName(position int) string {
	if position == 0 {
		return "current"
	}
	return "previous"
}
