package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/flaky"
	"weir/webhook"
)

// flakyCmd is "weir flaky". The rules that its flags make are tried in the order
// outages, fail-first, fail-tries, chance, too-large, cap, and the answer to
// everything else.
type flakyCmd struct {
	Addr   string `default:"127.0.0.1:9090" placeholder:"ADDRESS" help:"Listen here (${default}); port 0 takes a free one."`
	Script string `placeholder:"FILE" help:"A file with a script, or one of ${scripts}."`
	Print  bool   `help:"Print the script that these flags make, and stop."`
	flakyFlags
}

// flakyFlags are the flags that make a script.
type flakyFlags struct {
	Status     reply          `default:"200" placeholder:"ANSWER" help:"Answer to what no other flag refuses (${default}): a status, or one of ${faults}."`
	Fail       reply          `default:"503" placeholder:"ANSWER" help:"Answer of the flags that fail (${default}): a status or a fault."`
	Outage     []outage       `sep:"none" placeholder:"FROM-TO" help:"Fail from..to after the start, as in 10s-13s; may be given again."`
	FailFirst  int            `placeholder:"N" help:"Fail the first N requests."`
	FailTries  int            `placeholder:"N" help:"Fail the first N requests of each event."`
	FailChance float64        `placeholder:"SHARE" help:"Fail this share of the requests, as in 0.2."`
	TooLarge   int64          `placeholder:"BYTES" help:"Answer 413 to larger bodies."`
	Cap        string         `placeholder:"RATE" help:"Answer 429 beyond a rate, as in 60/1m."`
	RetryAfter string         `placeholder:"VALUE" help:"Retry-After on every refusal, or \"none\". Without it, a 429 of --cap has the seconds until there is room."`
	Delay      flaky.Duration `placeholder:"200ms" help:"Wait before each answer."`
	Trickle    flaky.Duration `placeholder:"1s" help:"Wait after each byte of the body."`
	Body       string         `placeholder:"TEXT" help:"Body of the answer."`
	Echo       bool           `help:"Answer with the request's body."`
	Header     []headerLine   `sep:"none" placeholder:"'NAME: VALUE'" help:"A header of the answer; may be given again."`
}

// Help is shown by "weir help flaky".
func (flakyCmd) Help() string {
	return `Examples:

    weir flaky --outage 10s-13s --cap 60/1m
    weir flaky --script daily-quota
    weir flaky --fail-tries 2 --fail reset --print > script.json`
}

// reply is a status or a fault, as flags have it.
type reply flaky.Answer

// UnmarshalText reads a status or the name of a fault.
func (r *reply) UnmarshalText(text []byte) error {
	*r = reply{}
	status, err := strconv.Atoi(string(text))
	if err == nil {
		r.Status = status
		return nil
	}
	for _, fault := range flaky.Faults() {
		if string(fault) == string(text) {
			r.Fault = fault
			return nil
		}
	}
	return fmt.Errorf("must be a status or one of %s", list(flaky.Faults()))
}

// outage is the time of an outage.
type outage flaky.When

// UnmarshalText reads a form like 10s-13s.
func (o *outage) UnmarshalText(text []byte) error {
	from, to, found := strings.Cut(string(text), "-")
	if !found {
		return errors.New("must have a form like 10s-13s")
	}
	return errors.Join(o.From.UnmarshalText([]byte(from)), o.To.UnmarshalText([]byte(to)))
}

// Run runs a scripted destination until ctx ends.
func (c *flakyCmd) Run(ctx context.Context, env Env) error {
	script, err := c.script()
	if err != nil {
		return usagef("flaky: %w; see weir help flaky", err)
	}
	if c.Print {
		text := json.NewEncoder(env.Stdout)
		text.SetEscapeHTML(false)
		text.SetIndent("", "  ")
		return text.Encode(script)
	}
	return c.serve(ctx, env, script)
}

// script finds the script by its name or in its file, or makes it of the flags.
// A script goes alone: what other flags would add to it would depend on an order
// that no one sees.
func (c *flakyCmd) script() (flaky.Script, error) {
	if c.Script == "" {
		rules, err := c.rules()
		return flaky.Script{Rules: rules}, err
	}
	if !reflect.DeepEqual(c.flakyFlags, flakyFlags{Status: reply{Status: 200}, Fail: reply{Status: 503}}) {
		return flaky.Script{}, errors.New("--script goes with --addr and --print only")
	}
	text, err := os.ReadFile(c.Script)
	if errors.Is(err, os.ErrNotExist) {
		return flaky.ReadyMade(c.Script)
	}
	if err != nil {
		return flaky.Script{}, err
	}
	return flaky.Parse(text)
}

// rules makes the rules of the flags.
func (f flakyFlags) rules() ([]flaky.Rule, error) {
	fail := flaky.Answer(f.Fail)
	fail.Delay = f.Delay
	askFor(&fail, f.RetryAfter)
	var rules []flaky.Rule
	add := func(name string, asked bool, when flaky.When, answer flaky.Answer) {
		if asked {
			rules = append(rules, flaky.Rule{Name: name, When: when, Answer: answer})
		}
	}
	for _, when := range f.Outage {
		add("outage", true, flaky.When(when), fail)
	}
	add("fail-first", f.FailFirst > 0, flaky.When{Last: f.FailFirst}, fail)
	add("fail-tries", f.FailTries > 0, flaky.When{Tries: f.FailTries}, fail)
	add("fail-chance", f.FailChance > 0, flaky.When{Chance: f.FailChance}, fail)
	add("too-large", f.TooLarge > 0, flaky.When{LargerThan: f.TooLarge}, flaky.Answer{Status: http.StatusRequestEntityTooLarge, Delay: f.Delay})
	if f.Cap != "" {
		rate, err := webhook.ParseRate(f.Cap)
		if err != nil {
			return nil, fmt.Errorf("--cap: %w", err)
		}
		limited := flaky.Answer{Status: http.StatusTooManyRequests, Delay: f.Delay}
		askFor(&limited, cmp.Or(f.RetryAfter, "{retry_after}"))
		add("cap", true, flaky.When{Over: flaky.Cap(rate)}, limited)
	}
	answer := flaky.Answer(f.Status)
	answer.Delay, answer.Trickle, answer.Body, answer.Echo = f.Delay, f.Trickle, f.Body, f.Echo
	for _, line := range f.Header {
		if answer.Headers == nil {
			answer.Headers = map[string]string{}
		}
		name, value := line.cut()
		answer.Headers[name] = value
	}
	if answer.Status >= 400 {
		askFor(&answer, f.RetryAfter)
	}
	add("answer", true, flaky.When{}, answer)
	return rules, nil
}

// askFor gives an answer the header Retry-After, if there is one to give.
func askFor(answer *flaky.Answer, value string) {
	if value == "" || value == "none" {
		return
	}
	headers := map[string]string{"Retry-After": value}
	maps.Copy(headers, answer.Headers)
	answer.Headers = headers
}

// serve listens and answers.
func (c *flakyCmd) serve(ctx context.Context, env Env, script flaky.Script) error {
	destination, err := flaky.New(script)
	if err != nil {
		return usagef("flaky: %w", err)
	}
	listener, err := env.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("flaky: listening: %w", err)
	}
	destination.Observe = flakyLog(env.Stderr)
	server := &http.Server{
		Handler:           destination,
		ReadHeaderTimeout: 10 * time.Second,
		// What hangs by its script ends with ctx.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	fmt.Fprintf(env.Stdout, "flaky listens on http://%s\n", listener.Addr())
	return serveUntil(ctx, server, listener)
}

// serveUntil serves until ctx ends and then waits shortly for open requests.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener) error {
	served := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() { served <- server.Serve(listener) })
	defer serving.Wait()
	select {
	case err := <-served:
		return fmt.Errorf("flaky: serving: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		// Requests that are still open are cut: a destination that breaks
		// off is what it is there for.
		_ = server.Close()
	}
	return nil
}

// flakyLog writes a line for each request.
func flakyLog(to io.Writer) func(flaky.Seen) {
	var mu sync.Mutex
	return func(seen flaky.Seen) {
		answer := strconv.Itoa(seen.Status)
		if seen.Fault != "" {
			answer = string(seen.Fault)
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(to, "%s #%d event=%q attempt=%d size=%d answer=%s rule=%q took=%s\n",
			seen.At.UTC().Format("15:04:05.000"), seen.Number, seen.EventID, seen.Attempt,
			seen.Size, answer, seen.Rule, time.Duration(seen.Took).Round(time.Millisecond))
	}
}
