package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"weir/webhook"
)

// page is what is to be shown.
type page struct {
	// name is that of the template; title goes into the browser's title.
	name   string
	title  string
	status int
	data   any
}

// frame is what every template is executed with.
type frame struct {
	Page    string
	Title   string
	Version string
	// Form is the session's form token, empty for strangers.
	Form string
	// Done is a sentence about the change that led here.
	Done string
	Now  moment
	Data any
}

// parseTemplates joins each page with the frame around it.
func (d *Dashboard) parseTemplates() (map[string]*template.Template, error) {
	names, err := fs.Glob(embedded, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	base, err := template.New("frame.html").Funcs(d.functions()).ParseFS(embedded, "templates/frame.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse the frame: %w", err)
	}
	templates := map[string]*template.Template{}
	for _, name := range names {
		page := strings.TrimSuffix(path.Base(name), ".html")
		if page == "frame" || page == "parts" {
			continue
		}
		whole, err := base.Clone()
		if err == nil {
			templates[page], err = whole.ParseFS(embedded, name)
		}
		if err != nil {
			return nil, fmt.Errorf("parse template %s: %w", page, err)
		}
	}
	return templates, nil
}

// render writes a page. It is made in memory first, so that a fault is
// answered as one.
func (d *Dashboard) render(w http.ResponseWriter, r *http.Request, p page) {
	now := time.Now()
	f := frame{
		Page: p.name, Title: p.title, Version: d.config.Version, Now: moment{now, now},
		Done: doneSentence(r.URL.Query().Get("done")), Data: p.data,
	}
	if found, ok := d.sessionOf(r, now); ok {
		f.Form = d.sessions.formToken(found)
	}
	var out bytes.Buffer
	if err := d.templates[p.name].Execute(&out, f); err != nil {
		d.config.Log.ErrorContext(r.Context(), "dashboard page cannot be made", webhook.LogRoute, p.name, webhook.LogError, err)
		http.Error(w, "This page cannot be made; the log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(out.Bytes())
	}
}

// problemView is what the page of a problem shows.
type problemView struct {
	Status int
	Text   string
}

// complain writes the page of a problem.
func (d *Dashboard) complain(w http.ResponseWriter, r *http.Request, status int, text string) {
	d.render(w, r, page{name: "problem", title: http.StatusText(status), status: status, data: problemView{status, text}})
}

// fault is a problem that an operator can understand.
type fault struct {
	status int
	text   string
}

// Error implements error.
func (f fault) Error() string { return f.text }

// fail answers an error. What is not expected is logged.
func (d *Dashboard) fail(w http.ResponseWriter, r *http.Request, err error) {
	var known fault
	switch {
	case errors.As(err, &known):
	case errors.Is(err, webhook.ErrNotFound):
		known = fault{http.StatusNotFound, "There is no such event, delivery or destination, or its retention has passed."}
	case errors.Is(err, webhook.ErrState):
		known = fault{http.StatusConflict, "The delivery's state does not allow that. It may have changed since the page was made."}
	case errors.Is(err, webhook.ErrCursor):
		known = fault{http.StatusBadRequest, "This list has no such page. Begin again at its first page."}
	default:
		d.config.Log.ErrorContext(r.Context(), "dashboard request failed", webhook.LogError, err)
		known = fault{http.StatusServiceUnavailable, "The store did not answer. Nothing was lost; try again."}
	}
	d.complain(w, r, known.status, known.text)
}

// doneSentence turns the word that a change leaves in the address into a
// sentence. Other words are not repeated.
func doneSentence(word string) string {
	switch word {
	case "paused":
		return "Paused. What is in flight ends by itself; nothing new is sent."
	case "resumed":
		return "Resumed. Every hold is cleared; sending begins slowly."
	case "redelivered":
		return "Redelivery is on its way, as fast as the destination's gates allow."
	case "cancelled":
		return "Cancelled. The delivery is dead and can be redelivered."
	case "redelivered-some":
		return "Redelivery has begun for the first of them. Repeat it for the rest."
	case "nothing":
		return "There was nothing to redeliver any more."
	default:
		return ""
	}
}
