package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"weir/cli/client"
	"weir/config"
	"weir/signature"
	"weir/webhook"
)

// The bounds of "weir send".
const (
	maxSend     = 100_000
	maxSendBody = 25 << 20 // bytes: the most that a source may be set to take
)

// sendCmd is "weir send".
type sendCmd struct {
	Source string       `arg:"" help:"The source to send as."`
	File   string       `arg:"" optional:"" help:"The body; - is standard input. Without it, a sample event."`
	ID     string       `help:"The sender's own id of the event; else a new one." placeholder:"ID"`
	Header []headerLine `sep:"none" placeholder:"'NAME: VALUE'" help:"A header to add or replace; may be given again."`
	Count  int          `default:"1" placeholder:"N" help:"Send so many different events (${default})."`
	Repeat int          `placeholder:"N" help:"Send each so many more times, as senders do that have not seen the answer."`
	Wait   wait         `default:"10s" placeholder:"DURATION" help:"Follow the deliveries for so long (${default})."`
	asking
}

// Help is shown by "weir help send".
func (sendCmd) Help() string {
	return `Signs an event as the sender of SOURCE would, with the settings that the service runs with (scheme and secret of the source), posts it, and, with WEIR_API_TOKEN, follows its deliveries.

Exit status: 0 stored (and delivered or waiting), 1 refused or dead, 2 usage.

Examples:

    weir send github
    weir send github push.json --header 'X-GitHub-Event: push'
    weir send stripe --count 100 --repeat 1 --json`
}

// Validate refuses numbers out of bounds.
func (c *sendCmd) Validate() error {
	switch {
	case c.Count < 1 || c.Count > maxSend:
		return fmt.Errorf("--count must be from 1 to %d", maxSend)
	case c.Repeat < 0 || c.Repeat > maxSend:
		return fmt.Errorf("--repeat must be from 0 to %d", maxSend)
	}
	return nil
}

// Run signs the event as the provider would, posts it, and follows its delivery.
func (c *sendCmd) Run(ctx context.Context, env Env) error {
	var body []byte
	if c.File != "" {
		var err error
		if body, err = readBody(env.Stdin, c.File); err != nil {
			return err
		}
	}
	from, err := config.LoadSender(env.Environ, c.Source)
	if err != nil {
		return err
	}
	s := sending{sendCmd: *c, body: body, from: from, client: c.client(env, from.Client), out: env.Stdout}
	defer s.client.Close()
	return s.run(ctx)
}

// wait is a duration as the settings have it; that 0 has no unit leaves nothing
// open.
type wait time.Duration

// UnmarshalText reads a duration.
func (w *wait) UnmarshalText(text []byte) error {
	if string(text) == "0" {
		*w = 0
		return nil
	}
	return (*config.Duration)(w).Decode(string(text))
}

// readBody reads a file, or standard input for -.
func readBody(stdin io.Reader, path string) ([]byte, error) {
	from := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, usagef("send: open what to send: %w", err)
		}
		defer file.Close()
		from = file
	}
	body, err := io.ReadAll(io.LimitReader(from, maxSendBody+1))
	if err != nil {
		return nil, usagef("send: read what to send: %w", err)
	}
	if len(body) > maxSendBody {
		return nil, usagef("send: the body is larger than %s, the most that any source takes", config.ByteSize(maxSendBody))
	}
	return body, nil
}

// ids returns the sender's ids of the events to send.
func (c sendCmd) ids() []string {
	id := c.ID
	if id == "" {
		id = "send-" + strings.ToLower(rand.Text()[:16])
	}
	if c.Count == 1 {
		return []string{id}
	}
	var ids []string
	for i := range c.Count {
		ids = append(ids, id+"-"+strconv.Itoa(i+1))
	}
	return ids
}

// The errors by which "weir send" fails.
var (
	errRefused = errors.New("not everything was taken: see above")
	errDead    = errors.New("a delivery is dead: see above")
)

// sending is one run of "weir send".
type sending struct {
	sendCmd
	body   []byte // nil is the sample
	from   config.Sender
	client *client.Client
	out    io.Writer
}

// sent is what became of an event, as --json shows it.
type sent struct {
	SenderID  string      `json:"sender_id"`
	Status    int         `json:"status"`
	ID        *webhook.ID `json:"id"`
	Key       string      `json:"key"`
	Duplicate bool        `json:"duplicate"`
	Reopened  bool        `json:"reopened"`
	Refused   string      `json:"refused,omitempty"`
	Event     *event      `json:"event,omitempty"`
}

// run sends every event, the repeats behind each, and reports each stage.
func (s sending) run(ctx context.Context) error {
	var refused, dead error
	for _, id := range s.ids() {
		made := sent{SenderID: id}
		err := s.event(ctx, &made)
		if s.JSON && (err == nil || errors.Is(err, errRefused) || errors.Is(err, errDead)) {
			err = cmp.Or(printJSON(s.out, made), err)
		}
		switch {
		case errors.Is(err, errRefused):
			refused = err
		case errors.Is(err, errDead):
			dead = err
		case err != nil:
			return err
		}
	}
	return cmp.Or(refused, dead) // one line is enough
}

// event sends one event and its repeats, and follows its delivery.
func (s sending) event(ctx context.Context, made *sent) error {
	for range s.Repeat + 1 {
		if err := s.post(ctx, made); err != nil {
			return err
		}
	}
	return s.follow(ctx, made)
}

// stage prints what happened at one stage.
func (s sending) stage(name, format string, args ...any) {
	if !s.JSON {
		fmt.Fprintf(s.out, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
}

// sign returns an event, signed as its provider would.
func (s sending) sign(id string, now time.Time) (signature.Request, error) {
	made := s.from.Verifier.Sample(id, now)
	if s.body != nil {
		made.Body = s.body
	}
	for _, line := range s.Header {
		made.Header.Set(line.cut())
	}
	return s.from.Verifier.Sign(made, id, now)
}
