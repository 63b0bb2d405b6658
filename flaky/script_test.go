package flaky

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryReadyMadeScriptParsesAndSaysWhatItIs(t *testing.T) {
	want := []string{"daily-quota", "outage-then-cap", "too-large"}
	if diff := cmp.Diff(want, Names()); diff != "" {
		t.Fatal(diff)
	}
	for _, name := range Names() {
		script, err := ReadyMade(name)
		if err != nil || script.About == "" || len(script.Rules) == 0 {
			t.Errorf("%s: %+v %v", name, script, err)
		}
	}
	if _, err := ReadyMade("../doc"); err == nil || !strings.Contains(err.Error(), "too-large") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestParseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no JSON", `rules`, "reading the script"},
		{"an unknown member", `{"rules":[{"stauts":500}]}`, "stauts"},
		{"something behind", `{"rules":[]}{}`, "follows"},
		{"a duration without a unit", `{"latency":"5"}`, "1m30s"},
		{"a negative duration", `{"latency":"-5s"}`, "1m30s"},
		{"a latency beyond a day", `{"latency":"25h"}`, "latency"},
		{"a rate without a window", `{"rules":[{"when":{"over":"60"}}]}`, "60/1m"},
		{"to before from", `{"rules":[{"name":"x","when":{"from":"3s","to":"2s"}}]}`, `rule 1 "x"`},
		{"last before first", `{"rules":[{"when":{"first":3,"last":2}}]}`, "first"},
		{"a negative size", `{"rules":[{"when":{"larger_than":-1}}]}`, "larger_than"},
		{"a chance above 1", `{"rules":[{"when":{"chance":1.5}}]}`, "chance"},
		{"an unknown fault", `{"rules":[{"fault":"explode"}]}`, "hang"},
		{"an informational status", `{"rules":[{"status":100}]}`, "200 to 599"},
		{"a monstrous pad", `{"rules":[{"pad":9000000000}]}`, "pad"},
		{"a delay beyond a day", `{"rules":[{"delay":"25h"}]}`, "delay"},
		{"a quota without a reset", `{"rules":[{"when":{"quota":{"limit":1,"cost":1,"reset":"0s"}}}]}`, "reset"},
		{"a monstrous quota", `{"rules":[{"when":{"quota":{"limit":9000000000000000000,"cost":1,"reset":"1s"}}}]}`, "figures"},
		{"too many rules", `{"rules":[{}` + strings.Repeat(",{}", maxRules) + `]}`, "at most"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// FuzzParse holds that a script that is understood is written down as it was,
// and that a server of it answers.
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		text, err := scripts.ReadFile("scripts/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"rules":[{"when":{"every":"1ns","to":"1ns"}},{"when":{"each":1,"last":1,"chance":0.5}}]}`))
	f.Add([]byte(`{"rules":[{"when":{"quota":{"limit":0,"cost":0,"reset":"1ns","every":"1ns"}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		script, err := Parse(text)
		if err != nil {
			return
		}
		written, err := json.Marshal(script)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("reading it again: %v", err)
		}
		rewritten, err := json.Marshal(again)
		if err != nil || string(written) != string(rewritten) {
			t.Errorf("%s\nbecame\n%s (%v)", written, rewritten, err)
		}
		server, err := New(script)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			server.decide(&Seen{EventID: "a", Size: 20_000})
		}
	})
}
