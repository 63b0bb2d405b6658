package handler

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/webhook"
	"weir/webhook/wording"
)

// The bounds of what is kept of refused requests.
const (
	// keepRefusals is how many are kept for each source.
	keepRefusals = 100
	// keepHeaders names of header fields are kept of a request, each and every
	// other text cut to keepText bytes.
	keepHeaders = 40
	keepText    = 100
)

// Refusals keeps the last refused requests of each source in memory, and those for
// sources that are not configured together. What one client is refused for again
// and again is kept once and counted, so that a flood hides little, and never
// what came for another source. The zero value is ready to use.
type Refusals struct {
	mu    sync.Mutex
	of    map[string][]refusalView // oldest first
	turns uint64
}

// refusalView is a refused request as clients see it. No value of a header and
// nothing of a body or query is in it.
type refusalView struct {
	At     stamp          `json:"at"`
	Source string         `json:"source"`
	Result webhook.Result `json:"result"`
	// Reason is the inner one, and Remedy what to do about it.
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
	Client string `json:"client"`
	Method string `json:"method"`
	Size   int64  `json:"size"`
	// Headers are the names of the header fields, sorted.
	Headers []string `json:"headers"`
	// Request is the id that the sender was told.
	Request string `json:"request"`
	// Count of the requests like this from this client, since First.
	Count int   `json:"count"`
	First stamp `json:"first_at"`
	// turn is the place of the last of them among all that were kept.
	turn uint64
}

// like reports whether a refusal is another of the same kind by the same client.
func (v refusalView) like(other refusalView) bool {
	return v.Client == other.Client && v.Result == other.Result && v.Reason == other.Reason && v.Method == other.Method
}

// note keeps a refusal.
func (s *Refusals) note(v refusalView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string][]refusalView{}
	}
	list := s.of[v.Source]
	s.turns++
	v.Count, v.First, v.turn = 1, v.At, s.turns
	if i := slices.IndexFunc(list, v.like); i >= 0 {
		v.Count, v.First = list[i].Count+1, list[i].First
		list = slices.Delete(list, i, i+1)
	} else if len(list) == keepRefusals {
		list = slices.Delete(list, 0, 1)
	}
	s.of[v.Source] = append(list, v)
}

// list returns what fits, newest first.
func (s *Refusals) list(source string, result webhook.Result, since time.Time) []refusalView {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []refusalView{}
	for name, list := range s.of {
		if source != "" && name != source {
			continue
		}
		for _, v := range list {
			if (result == "" || v.Result == result) && !time.Time(v.At).Before(since) {
				found = append(found, v)
			}
		}
	}
	slices.SortFunc(found, func(a, b refusalView) int { return cmp.Compare(b.turn, a.turn) })
	return found
}

// noteRefusal keeps what became of a refused request.
func (h *receiver) noteRefusal(r *http.Request, requestID string, in *intake, out outcome) {
	if !isRefusal(out.result) {
		return
	}
	reason := out.reason
	if in.refusedFor != "" {
		reason = in.refusedFor
	}
	view := refusalView{
		At: stamp(in.arrived.UTC().Truncate(time.Millisecond)), Source: in.name, Result: out.result,
		Reason: clipped(reason), Remedy: wording.Refusal(out.result, reason), Method: clipped(r.Method),
		Size: max(r.ContentLength, in.read), Headers: headerNames(r.Header), Request: clipped(requestID),
	}
	if in.refusedFor != "" {
		view.Remedy = wording.Refusal(in.refusedResult, reason)
	}
	if client := h.config.Client(r.Context()); client.IsValid() {
		view.Client = client.String()
	}
	h.config.Refusals.note(view)
}

// isRefusal reports whether a result means that nothing was stored.
func isRefusal(result webhook.Result) bool {
	switch result {
	case webhook.ResultAccepted, webhook.ResultDuplicate, webhook.ResultChallenge, "":
		return false
	}
	return true
}

// headerNames lists the names of header fields, bounded.
func headerNames(header http.Header) []string {
	names := make([]string, 0, min(len(header), keepHeaders))
	for name := range header {
		names = append(names, clipped(name))
	}
	slices.Sort(names)
	return slices.Clip(names[:min(len(names), keepHeaders)])
}

// clipped cuts a text to what is kept. The copy keeps no more of it in memory.
func clipped(text string) string {
	return strings.ToValidUTF8(strings.Clone(text[:min(len(text), keepText)]), "")
}

// listRefusals is GET /v1/refusals.
func (h *api) listRefusals(r *http.Request) (result, error) {
	f := queryFields(r.URL.RawQuery, "source", "result", "since")
	source, since := f.text("source"), f.moment("since")
	only := oneOf(f, "result", webhook.Results())
	if f.err != nil {
		return result{}, f.err
	}
	return ok(page{Items: h.config.Refusals.list(source, only, since)})
}
