package dashboard

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"weir/webhook"
)

// The bounds of the body on an event's page, in bytes.
const (
	// readUnasked is the largest body that is read without being asked for.
	readUnasked = 64 << 10
	// maxText and maxBinary are how much is shown.
	maxText   = 32 << 10
	maxBinary = 4 << 10
	// maxDepth is how deeply nested JSON may be to be indented: indenting
	// makes deep nesting very much longer.
	maxDepth = 32
)

// bodyView is the bounded view of a body.
type bodyView struct {
	// Form is text, json, hex, empty, gone or unread.
	Form string
	Text string
	// More is how many bytes are not shown.
	More int64
}

// body makes the view of an event's body. A large one is read only where the
// address asks for it.
func (d *Dashboard) body(v visit, event webhook.Event) (bodyView, error) {
	switch {
	case event.BodyGone || d.config.Bodies == nil:
		return bodyView{Form: "gone"}, nil
	case event.Size > readUnasked && v.URL.Query().Get("body") != "show":
		return bodyView{Form: "unread"}, nil
	}
	raw, err := d.config.Bodies.Body(v.Context(), event.ID)
	if errors.Is(err, webhook.ErrNotFound) {
		return bodyView{Form: "gone"}, nil
	}
	if err != nil {
		return bodyView{}, fmt.Errorf("body of event %s: %w", event.ID, err)
	}
	return viewBody(raw), nil
}

// viewBody chooses the form in which bytes can be read.
func viewBody(raw []byte) bodyView {
	if len(raw) == 0 {
		return bodyView{Form: "empty"}
	}
	if notText(raw[:min(len(raw), maxText)]) {
		shown := raw[:min(len(raw), maxBinary)]
		return bodyView{Form: "hex", Text: hex.Dump(shown), More: int64(len(raw) - len(shown))}
	}
	if len(raw) <= maxText && shallow(raw) {
		var indented bytes.Buffer
		if err := json.Indent(&indented, raw, "", "  "); err == nil {
			return bodyView{Form: "json", Text: indented.String()}
		}
	}
	shown := string(raw)
	if len(raw) > maxText {
		shown = clip(string(raw[:min(len(raw), maxText+utf8.UTFMax)]), maxText)
	}
	return bodyView{Form: "text", Text: shown, More: int64(max(len(raw)-maxText, 0))}
}

// notText reports whether bytes are no text: not UTF-8, or with controls that
// no text has. A character that the end of raw cuts is no fault.
func notText(raw []byte) bool {
	for len(raw) > 0 {
		r, width := utf8.DecodeRune(raw)
		if r == utf8.RuneError && width == 1 {
			return utf8.FullRune(raw)
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return true
		}
		raw = raw[width:]
	}
	return false
}

// shallow reports whether JSON is nested no deeper than maxDepth. It may be
// wrong about what is not JSON.
func shallow(raw []byte) bool {
	depth, quoted, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > maxDepth {
			return false
		}
	}
	return true
}

// download is GET /events/{id}/body. The bytes are a stranger's: a browser
// must save them and never show them.
func (d *Dashboard) download(w http.ResponseWriter, v visit) {
	id, err := webhook.ParseID(v.PathValue("id"))
	if err != nil || d.config.Bodies == nil {
		d.fail(w, v.Request, webhook.ErrNotFound)
		return
	}
	raw, err := d.config.Bodies.Body(v.Context(), id)
	if err != nil {
		d.fail(w, v.Request, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", `attachment; filename="`+id.String()+`.bin"`)
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	header.Set("Content-Length", strconv.Itoa(len(raw)))
	_, _ = w.Write(raw)
}
