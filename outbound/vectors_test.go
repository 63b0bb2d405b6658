package outbound_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/outbound"
	"weir/webhook"
)

// answerCase is a case of testdata/vectors/responses.json.
type answerCase struct {
	ID         string
	Status     int
	Headers    [][2]string
	Body       string
	BodyBase64 []byte `json:"body_base64"`
	Error      string
	Now        time.Time
	Want       struct {
		Class        webhook.Outcome
		ClassAny     []webhook.Outcome `json:"class_any"`
		Presumed     *bool             `json:"presumed"`
		Aged         bool              `json:"aged"`
		RetryAfterMS *int64            `json:"retry_after_ms"`
		ToleranceMS  int64             `json:"tolerance_ms"`
		PaceMS       *int64            `json:"pace_ms"`
		Evidence     []string          `json:"evidence"`
		Forbidden    []string          `json:"forbidden"`
	}
}

// response makes the input of Read.
func (c answerCase) response() outbound.Response {
	r := outbound.Response{Status: c.Status, Header: http.Header{}, Body: []byte(c.Body)}
	for _, field := range c.Headers {
		r.Header.Add(field[0], field[1])
	}
	if c.BodyBase64 != nil {
		r.Body = c.BodyBase64
	}
	if c.Error != "" {
		r.Err = errors.New(c.Error)
	}
	return r
}

// load reads the cases of a vector file.
func load[T any](t testing.TB, name string) []T {
	t.Helper()
	text, err := os.ReadFile("../testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []T }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("%s holds no cases", name)
	}
	return file.Cases
}

func TestPublishedAnswers(t *testing.T) { checkAnswers(t, "responses.json") }

func TestAnswersFromTheField(t *testing.T) { checkAnswers(t, "responses-field.json") }

func TestAnswersOfTheKindsOfTheField(t *testing.T) { checkAnswers(t, "responses-kinds.json") }

// checkAnswers reads each answer of a vector file and compares.
func checkAnswers(t *testing.T, name string) {
	for _, c := range load[answerCase](t, name) {
		t.Run(c.ID, func(t *testing.T) {
			got := outbound.Read(c.response(), c.Now)
			if got.Outcome != c.Want.Class && !slices.Contains(c.Want.ClassAny, got.Outcome) {
				t.Errorf("outcome %s (%s), want %s", got.Outcome, got.Rule, c.Want.Class)
			}
			if c.Want.Presumed != nil && got.Presumed != *c.Want.Presumed {
				t.Errorf("presumed %t (%s), want %t", got.Presumed, got.Rule, *c.Want.Presumed)
			}
			if got.Aged != c.Want.Aged {
				t.Errorf("aged %t (%s), want %t", got.Aged, got.Rule, c.Want.Aged)
			}
			checkHint(t, got.Hint, c)
			checkPace(t, got.Pacing, c.Want.PaceMS)
			checkEvidence(t, got.Evidence, c)
		})
	}
}

func checkHint(t *testing.T, got webhook.Hint, c answerCase) {
	t.Helper()
	want := c.Want.RetryAfterMS
	if got.Given() != (want != nil) {
		t.Fatalf("hint %v from %q, want %v", got.Wait, got.From, want)
	}
	if want == nil {
		return
	}
	if off := got.Wait.Milliseconds() - *want; off < -c.Want.ToleranceMS || off > c.Want.ToleranceMS {
		t.Errorf("hint %v from %q, want %d ms", got.Wait, got.From, *want)
	}
}

func checkPace(t *testing.T, got webhook.Pacing, want *int64) {
	t.Helper()
	var pause int64
	if want != nil {
		pause = *want
	}
	if got.NotBefore.Milliseconds() != pause {
		t.Errorf("pause %v, want %d ms", got.NotBefore, pause)
	}
}

func checkEvidence(t *testing.T, got webhook.Evidence, c answerCase) {
	t.Helper()
	kept := []string{got.Body, got.Note}
	for _, value := range got.Headers {
		kept = append(kept, value)
	}
	everything := strings.Join(kept, "\n")
	for _, part := range c.Want.Evidence {
		if !strings.Contains(everything, part) {
			t.Errorf("%q is not in what is kept: %q", part, everything)
		}
	}
	for _, part := range c.Want.Forbidden {
		if strings.Contains(everything, part) {
			t.Errorf("%q is in what is kept", part)
		}
	}
}

// waitCase is a case of testdata/vectors/durations.json.
type waitCase struct {
	ID     string
	Header string
	Value  string
	Date   string
	Now    time.Time
	WantMS json.RawMessage `json:"want_ms"`
}

func TestPublishedWaits(t *testing.T) {
	for _, c := range load[waitCase](t, "durations.json") {
		t.Run(c.ID, func(t *testing.T) {
			base := outbound.Base(http.Header{"Date": {c.Date}}, c.Now)
			wait, ok := outbound.Wait(c.Header, c.Value, base)
			got := json.RawMessage(`"invalid"`)
			if ok {
				got, _ = json.Marshal(wait.Milliseconds())
			}
			if string(got) != string(c.WantMS) {
				t.Errorf("%s: %q is %s, want %s", c.Header, c.Value, got, c.WantMS)
			}
		})
	}
}
