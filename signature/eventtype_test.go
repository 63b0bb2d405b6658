package signature

import (
	"net/http"
	"strings"
	"testing"
)

// TestTheTypeIsReadWhereTheSenderPutsIt, after the signature has been checked.
func TestTheTypeIsReadWhereTheSenderPutsIt(t *testing.T) {
	for name, c := range map[string]struct {
		scheme, setting string
		header          http.Header
		body, want      string
	}{
		"github without an action":  {"github", "", http.Header{"X-Github-Event": {"push"}}, `{"ref":"x"}`, "push"},
		"github with one":           {"github", "", http.Header{"X-Github-Event": {"pull_request"}}, `{"action":"opened"}`, "pull_request.opened"},
		"an action that is no text": {"github", "", http.Header{"X-Github-Event": {"pull_request"}}, `{"action":{"a":1}}`, "pull_request"},
		"github, told otherwise":    {"github", "json:a.b", http.Header{"X-Github-Event": {"push"}}, `{"a":{"b":"c"},"action":"opened"}`, "c"},
		"told to have none":         {"github", "none", http.Header{"X-Github-Event": {"push"}}, `{}`, ""},
		"gitlab's system hook":      {"gitlab", "", nil, `{"event_name":"project_create"}`, "project_create"},
		"a slash command":           {"slack", "", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, `command=%2Fweather&text=x`, "/weather"},
		"a batch of one type":       {"sendgrid", "", nil, `[{"event":"open"},{"event":"open"}]`, "open"},
		"a batch of several":        {"sendgrid", "", nil, `[{"event":"open"},{"event":"click"}]`, ""},
		"a source without a place":  {"hmac", "", nil, `{"type":"x"}`, ""},
		"a source with a setting":   {"hmac", "json:type", nil, `{"type":"x"}`, "x"},
		"a header":                  {"token", "header:X-Kind", http.Header{"X-Kind": {"y"}}, `{}`, "y"},
		"128 bytes":                 {"stripe", "", nil, `{"type":"` + strings.Repeat("a", 128) + `"}`, strings.Repeat("a", 128)},
		"129 bytes":                 {"stripe", "", nil, `{"type":"` + strings.Repeat("a", 129) + `"}`, ""},
		"a control character":       {"stripe", "", nil, `{"type":"a\u0007b"}`, ""},
		"half a character":          {"stripe", "", nil, "{\"type\":\"a\xffb\"}", ""},
		"no JSON":                   {"stripe", "", nil, `type`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := testConfig(c.scheme)
			config.Type = c.setting
			v := newVerifier(t, config)
			in := &input{Request: Request{Header: http.Header{}, Body: []byte(c.body)}, maxBody: 1 << 20}
			for field, values := range c.header {
				in.Header[field] = values
			}
			if got := v.eventType(in); got != c.want {
				t.Errorf("type %q, want %q", got, c.want)
			}
		})
	}
}

// TestATypeOfABodyIsRefused: a digest is no type.
func TestATypeOfABodyIsRefused(t *testing.T) {
	config := testConfig("github")
	for _, setting := range []string{"body", "header:", "json:", "query:x"} {
		config.Type = setting
		if _, err := New(config); err == nil {
			t.Errorf("TYPE=%s is taken", setting)
		}
	}
}
