package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// wantedAnswer is what a case of responses.json wants.
type wantedAnswer struct {
	ID   string
	Want struct {
		Class        string
		RetryAfterMS *int64 `json:"retry_after_ms"`
		ToleranceMS  int64  `json:"tolerance_ms"`
		PaceMS       *int64 `json:"pace_ms"`
		Evidence     []string
		Forbidden    []string
	}
}

// explainedLines runs an explanation over a vector file and returns its lines.
func explainedLines(t *testing.T, name string, explain func(in, out *bytes.Buffer) error) (text []byte, lines []string) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := explain(bytes.NewBuffer(text), &out); err != nil {
		t.Fatal(err)
	}
	return text, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestExplainResponseReproducesTheVectors(t *testing.T) {
	text, lines := explainedLines(t, "responses.json", func(in, out *bytes.Buffer) error {
		return Response(in, out)
	})
	var file struct{ Cases []wantedAnswer }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(lines) != len(file.Cases) {
		t.Fatalf("%d lines for %d cases", len(lines), len(file.Cases))
	}
	for i, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) { checkExplained(t, lines[i], c) })
	}
}

func checkExplained(t *testing.T, line string, c wantedAnswer) {
	t.Helper()
	var got struct {
		ID           string
		Class        string
		RetryAfterMS *int64 `json:"retry_after_ms"`
		PaceMS       *int64 `json:"pace_ms"`
		Rule         string
		Evidence     struct {
			Body    string
			Headers map[string]string
			Note    string
		}
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != c.ID || got.Class != c.Want.Class || got.Rule == "" {
		t.Errorf("line %s, want class %s", line, c.Want.Class)
	}
	if !near(got.RetryAfterMS, c.Want.RetryAfterMS, c.Want.ToleranceMS) || !near(got.PaceMS, c.Want.PaceMS, 0) {
		t.Errorf("line %s, want %+v", line, c.Want)
	}
	kept := got.Evidence.Body + "\n" + got.Evidence.Note
	for _, value := range got.Evidence.Headers {
		kept += "\n" + value
	}
	for _, part := range c.Want.Evidence {
		if !strings.Contains(kept, part) {
			t.Errorf("%q is not kept in %s", part, line)
		}
	}
	for _, part := range c.Want.Forbidden {
		if strings.Contains(line, part) {
			t.Errorf("%q is shown in %s", part, line)
		}
	}
}

// near compares what may be null within a tolerance.
func near(got, want *int64, tolerance int64) bool {
	if got == nil || want == nil {
		return got == want
	}
	return *got-*want <= tolerance && *want-*got <= tolerance
}

func TestExplainWaitReproducesTheVectors(t *testing.T) {
	text, lines := explainedLines(t, "durations.json", func(in, out *bytes.Buffer) error {
		return Wait(in, out)
	})
	var file struct {
		Cases []struct {
			ID     string          `json:"id"`
			WantMS json.RawMessage `json:"want_ms"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(lines) != len(file.Cases) {
		t.Fatalf("%d lines for %d cases", len(lines), len(file.Cases))
	}
	for i, c := range file.Cases {
		if want := `{"id":"` + c.ID + `","ms":` + string(c.WantMS) + `}`; lines[i] != want {
			t.Errorf("line %s, want %s", lines[i], want)
		}
	}
}

func TestExplainTakesEveryFormOfInput(t *testing.T) {
	const one = `{"id":"a","header":"Retry-After","value":"5","now":"2026-11-30T12:00:00Z","unknown":[1]}`
	for name, test := range map[string]struct {
		in    string
		lines int
	}{
		"one object":          {one, 1},
		"objects in a row":    {one + "\n" + one, 2},
		"an array":            {"[" + one + "," + one + "]", 2},
		"an empty array":      {"[]", 0},
		"an object of cases":  {`{"about":"x","cases":[` + one + `]}`, 1},
		"no cases in there":   {`{"cases":[]}`, 0},
		"an array and a case": {"[" + one + "] " + one, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Wait(strings.NewReader(test.in), &out); err != nil {
				t.Fatal(err)
			}
			if want := strings.Repeat(`{"id":"a","ms":5000}`+"\n", test.lines); out.String() != want {
				t.Errorf("got %q, want %q", out.String(), want)
			}
		})
	}
}

func TestExplainRefusesOtherInputAsUsage(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":     "",
		"no JSON":     "hello",
		"cut JSON":    `{"id":"a"`,
		"a text":      `"a"`,
		"bad base64":  `{"id":"a","status":429,"body_base64":"?"}`,
		"half a pair": `{"id":"a","status":429,"headers":[["Retry-After"]]}`,
	} {
		t.Run(name, func(t *testing.T) {
			err := Response(strings.NewReader(in), new(bytes.Buffer))
			if !errors.As(err, new(ErrInput)) {
				t.Errorf("error %v, want an ErrInput", err)
			}
		})
	}
}

func TestExplainResponseEscapesNoHTML(t *testing.T) {
	var out bytes.Buffer
	in := `{"id":"a","status":503,"headers":{"Retry-After":"7"},"body":"<b>&</b>","now":"2026-11-30T12:00:00Z"}`
	if err := Response(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"a","class":"transient","retry_after_ms":7000,"pace_ms":null,"rule":"status_transient","presumed":false,` +
		`"evidence":{"body":"<b>&</b>","headers":{"Retry-After":"7"}}}` + "\n"
	if out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
}
