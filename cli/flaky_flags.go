package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"

	"weir/flaky"
	"weir/webhook"
)

// flakyCall is what the arguments ask for.
type flakyCall struct {
	addr   string
	print  bool
	script flaky.Script
}

// flakyFlags collects the arguments. The rules that they make stand in the
// order outages, fail-first, chance, too-large, cap, and the answer to
// everything else.
type flakyFlags struct {
	set        *flag.FlagSet
	addr       string
	script     string
	print      bool
	status     string
	fail       string
	outages    []flaky.Rule
	failFirst  int
	failTries  int
	failChance float64
	tooLarge   int64
	cap        string
	retryAfter string
	answer     flaky.Answer
}

// parseFlaky reads the arguments. The error is [flag.ErrHelp] after -h, when
// the help has been printed.
func parseFlaky(args []string, help io.Writer) (flakyCall, error) {
	f := newFlakyFlags(help)
	if err := f.set.Parse(args); err != nil {
		return flakyCall{}, err
	}
	if f.set.NArg() > 0 {
		return flakyCall{}, fmt.Errorf("unexpected argument %q", f.set.Arg(0))
	}
	call := flakyCall{addr: f.addr, print: f.print}
	var err error
	if f.script != "" {
		call.script, err = f.readScript()
	} else {
		call.script.Rules, err = f.rules()
	}
	return call, err
}

func newFlakyFlags(help io.Writer) *flakyFlags {
	f := &flakyFlags{set: flag.NewFlagSet("weir flaky", flag.ContinueOnError)}
	f.set.SetOutput(help)
	f.set.StringVar(&f.addr, "addr", "127.0.0.1:9090", "listen `address`; port 0 takes a free one")
	f.set.StringVar(&f.script, "script", "", "`file` with a script, or one of "+strings.Join(flaky.Names(), ", "))
	f.set.BoolVar(&f.print, "print", false, "print the script that these flags make, and stop")
	f.set.StringVar(&f.status, "status", "200", "`answer` to what no other flag refuses: a status, or one of "+faultNames())
	f.set.StringVar(&f.fail, "fail", "503", "`answer` of the flags that fail: a status or a fault")
	f.set.Func("outage", "fail from..to after the start, `10s-13s`; may be given again", f.addOutage)
	f.set.IntVar(&f.failFirst, "fail-first", 0, "fail the first `n` requests")
	f.set.IntVar(&f.failTries, "fail-tries", 0, "fail the first `n` requests of each event")
	f.set.Float64Var(&f.failChance, "fail-chance", 0, "fail this `share` of the requests, 0.2")
	f.set.Int64Var(&f.tooLarge, "too-large", 0, "answer 413 to bodies of more `bytes`")
	f.set.StringVar(&f.cap, "cap", "", "answer 429 beyond a `rate`, 60/1m")
	f.set.StringVar(&f.retryAfter, "retry-after", "", "`value` of Retry-After on every refusal, or \"none\" (default: on 429 of -cap, the seconds until there is room)")
	f.set.TextVar(&f.answer.Delay, "delay", flaky.Duration(0), "wait before each answer, `200ms`")
	f.set.TextVar(&f.answer.Trickle, "trickle", flaky.Duration(0), "wait after each byte of the body, `1s`")
	f.set.StringVar(&f.answer.Body, "body", "", "`text` of the answer")
	f.set.BoolVar(&f.answer.Echo, "echo", false, "answer with the request's body")
	f.set.Func("header", "`'Name: value'` of the answer; may be given again", f.addHeader)
	return f
}

func faultNames() string {
	var names []string
	for _, fault := range flaky.Faults() {
		names = append(names, string(fault))
	}
	return strings.Join(names, ", ")
}

func (f *flakyFlags) addOutage(text string) error {
	from, to, found := strings.Cut(text, "-")
	var when flaky.When
	if !found {
		return errors.New("want a form like 10s-13s")
	}
	if err := when.From.UnmarshalText([]byte(from)); err != nil {
		return err
	}
	if err := when.To.UnmarshalText([]byte(to)); err != nil {
		return err
	}
	f.outages = append(f.outages, flaky.Rule{Name: "outage", When: when})
	return nil
}

func (f *flakyFlags) addHeader(text string) error {
	name, value, found := strings.Cut(text, ":")
	if !found || strings.TrimSpace(name) == "" {
		return errors.New("want a form like 'Name: value'")
	}
	if f.answer.Headers == nil {
		f.answer.Headers = map[string]string{}
	}
	f.answer.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	return nil
}

// readScript finds the script by its name or in its file. It goes alone: what
// other flags would add to it would depend on an order that no one sees.
func (f *flakyFlags) readScript() (flaky.Script, error) {
	var extra error
	f.set.Visit(func(given *flag.Flag) {
		if given.Name != "script" && given.Name != "addr" && given.Name != "print" {
			extra = fmt.Errorf("-script and -%s exclude each other", given.Name)
		}
	})
	if extra != nil {
		return flaky.Script{}, extra
	}
	text, err := os.ReadFile(f.script)
	if errors.Is(err, os.ErrNotExist) {
		return flaky.ReadyMade(f.script)
	}
	if err != nil {
		return flaky.Script{}, err
	}
	return flaky.Parse(text)
}

// rules makes the script of the other flags.
func (f *flakyFlags) rules() ([]flaky.Rule, error) {
	fail, err := failing(f.fail)
	if err != nil {
		return nil, fmt.Errorf("-fail: %w", err)
	}
	fail.Delay = f.answer.Delay
	f.askFor(&fail, f.retryAfter)
	var rules []flaky.Rule
	for _, rule := range f.failures() {
		rules = append(rules, flaky.Rule{Name: rule.Name, When: rule.When, Answer: fail})
	}
	if f.tooLarge > 0 {
		rules = append(rules, flaky.Rule{
			Name: "too-large", When: flaky.When{LargerThan: f.tooLarge},
			Answer: flaky.Answer{Status: http.StatusRequestEntityTooLarge, Delay: f.answer.Delay},
		})
	}
	limit, err := f.capRule()
	if err != nil {
		return nil, fmt.Errorf("-cap: %w", err)
	}
	rest, err := failing(f.status)
	if err != nil {
		return nil, fmt.Errorf("-status: %w", err)
	}
	answer := f.answer
	answer.Status, answer.Fault = rest.Status, rest.Fault
	if answer.Status >= 400 {
		f.askFor(&answer, f.retryAfter)
	}
	return append(append(rules, limit...), flaky.Rule{Name: "answer", Answer: answer}), nil
}

// failures are the conditions under which a request fails.
func (f *flakyFlags) failures() []flaky.Rule {
	rules := f.outages
	if f.failFirst > 0 {
		rules = append(rules, flaky.Rule{Name: "fail-first", When: flaky.When{Last: f.failFirst}})
	}
	if f.failTries > 0 {
		rules = append(rules, flaky.Rule{Name: "fail-tries", When: flaky.When{Tries: f.failTries}})
	}
	if f.failChance > 0 {
		rules = append(rules, flaky.Rule{Name: "fail-chance", When: flaky.When{Chance: f.failChance}})
	}
	return rules
}

// capRule is the rule of -cap with the header that -retry-after asks for.
func (f *flakyFlags) capRule() ([]flaky.Rule, error) {
	if f.cap == "" {
		return nil, nil
	}
	rate, err := webhook.ParseRate(f.cap)
	if err != nil {
		return nil, err
	}
	answer := flaky.Answer{Status: http.StatusTooManyRequests, Delay: f.answer.Delay}
	f.askFor(&answer, cmp.Or(f.retryAfter, "{retry_after}"))
	return []flaky.Rule{{Name: "cap", When: flaky.When{Over: flaky.Cap(rate)}, Answer: answer}}, nil
}

// askFor gives an answer the header Retry-After, if there is one to give.
func (f *flakyFlags) askFor(answer *flaky.Answer, value string) {
	if value == "" || value == "none" {
		return
	}
	headers := map[string]string{"Retry-After": value}
	maps.Copy(headers, answer.Headers)
	answer.Headers = headers
}

// failing reads a status or the name of a fault.
func failing(text string) (flaky.Answer, error) {
	status, err := strconv.Atoi(text)
	if err == nil {
		return flaky.Answer{Status: status}, nil
	}
	for _, fault := range flaky.Faults() {
		if string(fault) == text {
			return flaky.Answer{Fault: fault}, nil
		}
	}
	return flaky.Answer{}, fmt.Errorf("%q: want a status or one of %s", text, faultNames())
}
