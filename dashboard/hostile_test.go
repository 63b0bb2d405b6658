package dashboard

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"weir/webhook"
)

// hostile texts try to leave the place where they stand.
var hostile = [...]string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</pre></bdi></title><svg onload=alert(1)>`,
	"javascript:alert(1)", "`${alert(1)}`", "{{.Form}}", "<!--", "]]>", "<style>*{display:none}</style>", "\u202egnp.exe", "\x1b[31mred", "\x00", "\xff\xfe",
}

var typed = regexp.MustCompile(`<input type="search"[^>]*>`)

func TestHostileTextsAreShownAsText(t *testing.T) {
	for _, text := range hostile {
		r := example()
		detail := &r.details[0]
		detail.Event.Key, detail.Event.KeyFrom = text, "json:"+text
		detail.Event.Header = http.Header{"Content-Type": {text}, text: {text, text}}
		r.bodies[detail.Event.ID] = []byte("body " + text)
		evidence := webhook.Evidence{Body: text, Headers: map[string]string{text: text}, Note: text, Window: text}
		for i := range detail.Deliveries {
			detail.Deliveries[i].Delivery.Detail = text
			detail.Deliveries[i].Attempts = []webhook.Attempt{{Number: 1, At: noon, SentTo: text, Outcome: webhook.Outcome(text), Rule: text, Hint: webhook.Hint{From: text, Wait: 1}, Evidence: evidence, Decision: webhook.Pending, NextAttemptAt: noon}}
		}
		app := r.statuses["app"]
		app.Destination.Holds = []webhook.Hold{{Reason: webhook.HoldAuth, From: text, Rule: text, Evidence: evidence, NeedsOperator: true}}
		r.statuses["app"] = app
		b := serve(t, r).login(t)
		for _, target := range []string{"/", "/events", "/events?q=" + url.QueryEscape(text), "/events/" + detail.Event.ID.String(), "/destinations", "/dead"} {
			html := b.page(target)
			noInline(t, target+" with "+text, html)
			// What an operator typed stays in the search box as it is.
			html = typed.ReplaceAllString(html, "")
			for _, raw := range []string{"<script>alert", "<img src=x", "<svg onload", "<style>*", "\u202e", "\x1b", "\x00"} {
				if strings.Contains(html, raw) {
					t.Errorf("%s holds %q as it came", target, raw)
				}
			}
			if !utf8.ValidString(html) {
				t.Errorf("%s with %q is not UTF-8", target, text)
			}
		}
	}
}

func TestBodyIsDownloadedAndNeverShownByTheBrowser(t *testing.T) {
	r := example()
	page := []byte("<html><script>alert(1)</script>")
	r.bodies[numbered(1)] = page
	answer := serve(t, r).login(t).get("/events/" + numbered(1).String() + "/body")
	if !bytes.Equal(answer.Body.Bytes(), page) {
		t.Errorf("%q", answer.Body)
	}
	header := answer.Header()
	if header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment") || !strings.Contains(header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%v", header)
	}
	delete(r.bodies, numbered(1))
	b := serve(t, r).login(t)
	for _, target := range []string{"/events/" + numbered(1).String() + "/body", "/events/nonsense/body"} {
		if answer := b.get(target); answer.Code != http.StatusNotFound || answer.Header().Get("Content-Disposition") != "" {
			t.Errorf("%s: %d", target, answer.Code)
		}
	}
}

func TestBodyIsShownInTheFormThatCanBeRead(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	long := strings.Repeat("é", maxText)
	for _, c := range []struct {
		name string
		raw  string
		form string
		text string
		more int64
	}{
		{"empty", "", "empty", "", 0},
		{"JSON", `{"a":[1,"x"]}`, "json", "{\n  \"a\": [\n    1,\n    \"x\"\n  ]\n}", 0},
		{"brackets in a string", `{"a":"` + strings.Repeat("[", 99) + `\"{"}`, "json", "{\n  \"a\": \"" + strings.Repeat("[", 99) + "\\\"{\"\n}", 0},
		{"nested too deeply", deep, "text", deep, 0},
		{"no JSON", "a=1&b=2", "text", "a=1&b=2", 0},
		{"line ends", "a\r\nb\tc", "text", "a\r\nb\tc", 0},
		{"binary", "PNG\x00\x01", "hex", "00000000  50 4e 47 00 01                                    |PNG..|\n", 0},
		{"not UTF-8", "caf\xe9!", "hex", "00000000  63 61 66 e9 21                                    |caf.!|\n", 0},
		{"long text", "x" + long, "text", "x" + strings.Repeat("é", maxText/2-1) + "…", maxText + 1},
	} {
		got := viewBody([]byte(c.raw))
		if got.Form != c.form || got.Text != c.text || got.More != c.more {
			t.Errorf("%s: %s, %d more, %.80q", c.name, got.Form, got.More, got.Text)
		}
	}
}

func TestLargeBodyIsReadOnlyWhenAskedFor(t *testing.T) {
	r := example()
	r.details[0].Event.Size = readUnasked + 1
	r.bodies[numbered(1)] = bytes.Repeat([]byte("y"), readUnasked+1)
	b := serve(t, r).login(t)
	target := "/events/" + numbered(1).String()
	if html := b.page(target); strings.Contains(html, "yyy") || !strings.Contains(html, "?body=show") {
		t.Error("it is read unasked, or cannot be asked for")
	}
	html := b.page(target + "?body=show")
	if n := strings.Count(html, "y"); n < maxText || n > maxText+2000 {
		t.Errorf("%d bytes of it are shown", n)
	}
}

func FuzzBody(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"a":"\\"}`, "[[[[", "\x00", "é", "\xe2\x82", `"` + "\u202e"} {
		f.Add([]byte(seed))
	}
	f.Add(bytes.Repeat([]byte("é"), maxText))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := viewBody(raw)
		if len(got.Text) > maxDepth*2*maxText {
			t.Fatalf("%d bytes become %d", len(raw), len(got.Text))
		}
		if got.More < 0 || got.More > int64(len(raw)) {
			t.Fatalf("%d more of %d", got.More, len(raw))
		}
		shown := visible(got.Text)
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, hidden) {
			t.Fatalf("%q is shown as %q", raw, shown)
		}
	})
}

// The whole page of events, by whatever stands in the address.
func FuzzSearch(f *testing.F) {
	for _, seed := range []string{
		"", "q=delivery-1", "q=" + numbered(1).String(), "q=%00", "q=%ff", "q=<script>", "state=dead&destination=app", "state=odd",
		"since=2026-11-30T03:27", "until=tomorrow", "cursor=second", "cursor=%", "q=a;b", "%%%", "q=1&q=2", "source=" + strings.Repeat("x", 600),
		"since=0000-01-01", "done=paused", "q=%22%3E%3Csvg%20onload%3Dalert(1)%3E",
	} {
		f.Add(seed)
	}
	s := serve(f, example())
	b := s.login(f)
	f.Fuzz(func(t *testing.T, query string) {
		request := httptest.NewRequest(http.MethodGet, "/events", nil)
		request.URL.RawQuery = query
		answer := b.do(request)
		switch answer.Code {
		case http.StatusOK, http.StatusBadRequest:
			noInline(t, query, answer.Body.String())
		case http.StatusSeeOther:
			if to := answer.Header().Get("Location"); to != "/events/"+numbered(1).String() {
				t.Fatalf("%q leads to %q", query, to)
			}
		default:
			t.Fatalf("%q: %d", query, answer.Code)
		}
		if s.log.Len() > 0 {
			t.Fatalf("%q: %s", query, s.log)
		}
	})
}

func TestSearchFindsByIdAndByKey(t *testing.T) {
	r := example()
	// A key may look like an id.
	second := webhook.EventDetail{Event: webhook.Event{ID: numbered(2), Source: "github", Key: numbered(7).String(), ReceivedAt: noon}}
	r.details = append(r.details, second)
	s := serve(t, r)
	b := s.login(t)
	for query, want := range map[string]string{
		"q=" + numbered(1).String():                             "/events/" + numbered(1).String(),
		"q=%20" + strings.ToUpper(numbered(1).String()) + "%20": "/events/" + numbered(1).String(),
	} {
		if answer := b.get("/events?" + query); answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != want {
			t.Errorf("%s: %d to %q", query, answer.Code, answer.Header().Get("Location"))
		}
	}
	wants(t, b.page("/events?q="+numbered(7).String()), numbered(2).String(), `value="`+numbered(7).String()+`"`)
	if html := b.page("/events?q=delivery-1"); strings.Contains(html, numbered(2).String()) || !strings.Contains(html, numbered(1).String()) {
		t.Error("the key finds something else")
	}
	wants(t, b.page("/events?q=nothing"), "No event matches.")
}

func TestSearchPassesItsFiltersOnAndKeepsThemFromPageToPage(t *testing.T) {
	r := example()
	r.details = append(r.details, webhook.EventDetail{Event: webhook.Event{ID: numbered(2), ReceivedAt: noon}})
	s := serve(t, r)
	b := s.login(t)
	html := b.page("/events?source=github&state=dead&destination=crm&since=2026-11-30T03:27&until=2026-12-01&unknown=1")
	want := webhook.EventQuery{
		Source: "github", State: webhook.Dead, Destination: "crm", Limit: webhook.DefaultPage,
		Since: time.Date(2026, 11, 30, 3, 27, 0, 0, time.UTC), Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
	}
	if s.asked != want {
		t.Errorf("asked %+v", s.asked)
	}
	wants(t, html, "<option selected>dead</option>", "<option selected>crm</option>",
		`href="/events?cursor=second&amp;destination=crm&amp;since=2026-11-30T03%3A27&amp;source=github&amp;state=dead&amp;until=2026-12-01"`)
	second := b.page("/events?cursor=second&state=dead")
	if s.asked.After != "second" || s.asked.State != webhook.Dead {
		t.Errorf("asked %+v", s.asked)
	}
	wants(t, second, `href="/events?state=dead">Newest</a>`)
	for _, wrong := range []string{"state=odd", "since=tomorrow", "until=99999-01-01", "cursor=garbage"} {
		if answer := b.get("/events?" + wrong); answer.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", wrong, answer.Code)
		}
	}
}
