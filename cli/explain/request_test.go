package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// explainedCase is a line of output beside what the case wants.
type explainedCase struct {
	Name       string         `json:"name"`
	Want       string         `json:"want"`
	Verdict    string         `json:"verdict"`
	Reason     string         `json:"reason"`
	DeliveryID *string        `json:"delivery_id"`
	Respond    *explainAnswer `json:"respond"`
}

func explainLines(t *testing.T, input string) []explainedCase {
	t.Helper()
	var out bytes.Buffer
	if err := Request(strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	var lines []explainedCase
	for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		var one explainedCase
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines = append(lines, one)
	}
	return lines
}

func TestExplainRequestReproducesEveryVector(t *testing.T) {
	text, err := os.ReadFile("../../testdata/vectors/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var wants []explainedCase
	if err := json.Unmarshal(text, &wants); err != nil {
		t.Fatal(err)
	}
	lines := explainLines(t, string(text))
	if len(lines) != len(wants) || len(lines) != 121 {
		t.Fatalf("%d lines for %d cases, want 121", len(lines), len(wants))
	}
	for i, want := range wants {
		got := lines[i]
		want.Verdict, want.Reason, want.Want, got.Want = want.Want, got.Reason, "", ""
		if diff := cmp.Diff(want, got); diff != "" || got.Reason == "" {
			t.Errorf("%s (reason %q): %s", want.Name, got.Reason, diff)
		}
	}
}

func TestExplainRequestTakesObjectsOneAfterTheOther(t *testing.T) {
	lines := explainLines(t, `{"name":"a","scheme":"none","method":"POST"} {"name":"b","scheme":"none/x","unknown":[1]}
	[{"name":"c","scheme":"none"}]`)
	var names []string
	for _, line := range lines {
		if line.Verdict != "valid" {
			t.Errorf("%s is %s", line.Name, line.Verdict)
		}
		names = append(names, line.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestExplainRequestOfNoneIsNothing: as the other explanations take it.
func TestExplainRequestOfNoneIsNothing(t *testing.T) {
	var out bytes.Buffer
	if err := Request(strings.NewReader(`[]`), &out); err != nil || out.Len() != 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestExplainRequestHandshakes(t *testing.T) {
	for name, c := range map[string]struct {
		input   string
		verdict string
		answer  *explainAnswer
	}{
		"meta, the secret is the verify token": {
			`{"scheme":"meta","secret":"v-token","method":"GET","url":"https://weir.example/in/meta?hub.mode=subscribe&hub.verify_token=v-token&hub.challenge=12345"}`,
			"valid", &explainAnswer{Status: 200, Body: "12345"},
		},
		"meta, wrong verify token": {
			`{"scheme":"meta","secret":"v-token","method":"GET","url":"https://weir.example/in/meta?hub.mode=subscribe&hub.verify_token=other&hub.challenge=12345"}`,
			"invalid", &explainAnswer{Status: 403, Body: "wrong verify token\n"},
		},
		"dropbox, without a secret": {
			`{"scheme":"dropbox","method":"GET","url":"https://weir.example/in/dropbox?challenge=abc%20d"}`,
			"valid", &explainAnswer{Status: 200, Body: "abc d"},
		},
		"cloudevents": {
			`{"scheme":"cloudevents","secret":"t","method":"OPTIONS","url":"https://weir.example/in/ce","headers":{"WebHook-Request-Origin":"events.example"}}`,
			"valid", &explainAnswer{Status: 200, Headers: map[string]string{"Webhook-Allowed-Origin": "events.example", "Webhook-Allowed-Rate": "*"}},
		},
		"a scheme without one": {`{"scheme":"github","secret":"s","method":"GET","url":"https://weir.example/in/github"}`, "invalid", nil},
		"an unknown scheme":    {`{"scheme":"carrier-pigeon","secret":"s"}`, "invalid", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := explainLines(t, c.input)[0]
			if got.Verdict != c.verdict || got.Reason == "" || got.DeliveryID != nil {
				t.Errorf("got %+v, want %s", got, c.verdict)
			}
			if diff := cmp.Diff(c.answer, got.Respond); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExplainRequestRefusesOtherInput(t *testing.T) {
	for _, input := range []string{
		"", "nonsense", `"text"`, `[1]`, `{"now":"late"}`, `{"headers":{"A":1}}`,
		`{"name":"a","scheme":"none"} {`, `{"body_base64":"*"}`,
	} {
		err := Request(strings.NewReader(input), &bytes.Buffer{})
		if !errors.As(err, new(ErrInput)) {
			t.Errorf("%q: error %v, want an ErrInput", input, err)
		}
	}
}
