package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"weir/cli/client"
	"weir/config"
)

// The bounds of "weir send".
const (
	maxSend     = 100_000
	maxSendBody = 25 << 20 // bytes: the most that a source may be set to take
)

// sendCall is a call of "weir send".
type sendCall struct {
	source  string
	body    []byte // nil is the sample
	id      string
	url     string
	headers []string
	count   int
	repeat  int
	wait    time.Duration
}

// sendCommand is "weir send": it signs an event as the provider would, posts
// it, and prints what becomes of it.
func sendCommand(ctx context.Context, w Env, args []string) error {
	call, err := parseSend(w, args)
	if err != nil {
		return unlessHelped(err)
	}
	from, err := config.LoadSender(w.Environ, call.source)
	if err != nil {
		return err
	}
	if call.url != "" {
		from.Client.URL, from.Client.URLFrom = strings.TrimRight(call.url, "/"), "--url"
	}
	s := sending{call: call, from: from, client: client.New(clientOf(w, from.Client)), out: w.Stdout}
	defer s.client.Close()
	return s.run(ctx)
}

// parseSend reads the arguments, and the body from its file.
func parseSend(w Env, args []string) (sendCall, error) {
	var call sendCall
	flags := newFlags("send")
	flags.StringVar(&call.id, "id", "", "")
	flags.StringVar(&call.url, "url", "", "")
	flags.IntVar(&call.count, "count", 1, "")
	flags.IntVar(&call.repeat, "repeat", 0, "")
	call.wait = 10 * time.Second
	flags.Func("wait", "", call.setWait)
	flags.Func("header", "", func(line string) error {
		if !isHeader(line) {
			return errors.New("want a form like 'X-GitHub-Event: push'")
		}
		call.headers = append(call.headers, line)
		return nil
	})
	given, err := parse(w, flags, args, 2)
	if err != nil {
		return call, err
	}
	if len(given) == 0 {
		return call, usagef("weir send: name the source to send as; see weir help send")
	}
	call.source = given[0]
	if len(given) == 2 {
		if call.body, err = readBody(w.Stdin, given[1]); err != nil {
			return call, err
		}
	}
	return call, call.check()
}

// check refuses figures out of bounds.
func (c sendCall) check() error {
	switch target, err := url.Parse(c.url); {
	case c.url != "" && (err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https"):
		return usagef("weir send: --url wants an address such as http://127.0.0.1:8080")
	case c.count < 1 || c.count > maxSend:
		return usagef("weir send: --count wants a number from 1 to %d", maxSend)
	case c.repeat < 0 || c.repeat > maxSend:
		return usagef("weir send: --repeat wants a number from 0 to %d", maxSend)
	}
	return nil
}

// setWait reads a length as the settings do; that 0 has no unit leaves nothing
// open.
func (c *sendCall) setWait(text string) error {
	if text == "0" {
		text = "0s"
	}
	var wait config.Duration
	if err := wait.Decode(text); err != nil {
		return err
	}
	c.wait = time.Duration(wait)
	return nil
}

// readBody reads a file, or standard input for -.
func readBody(stdin io.Reader, path string) ([]byte, error) {
	from := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, usagef("open what to send: %w", err)
		}
		defer file.Close()
		from = file
	}
	body, err := io.ReadAll(io.LimitReader(from, maxSendBody+1))
	if err != nil {
		return nil, usagef("read what to send: %w", err)
	}
	if len(body) > maxSendBody {
		return nil, usagef("what to send is larger than %s, the most that any source takes", config.ByteSize(maxSendBody))
	}
	return body, nil
}

// ids returns the sender's ids of the events to send.
func (c sendCall) ids() []string {
	id := c.id
	if id == "" {
		id = "send-" + strings.ToLower(rand.Text()[:16])
	}
	if c.count == 1 {
		return []string{id}
	}
	var ids []string
	for i := range c.count {
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
	call   sendCall
	from   config.Sender
	client *client.Client
	out    io.Writer
}

// run sends every event, the repeats behind each, and reports each stage.
func (s sending) run(ctx context.Context) error {
	var failed error
	for _, id := range s.call.ids() {
		receipt, err := s.event(ctx, id)
		switch {
		case errors.Is(err, errRefused):
			failed = err
			continue
		case err != nil:
			return err
		}
		if err := s.follow(ctx, receipt.ID); errors.Is(err, errDead) {
			failed = errors.Join(failed, err)
		} else if err != nil {
			return err
		}
	}
	return firstOf(failed)
}

// firstOf returns the first of joined errors: one line is enough.
func firstOf(err error) error {
	if errors.Is(err, errRefused) {
		return errRefused
	}
	return err
}

// event sends one event and its repeats; the receipt is that of the last that
// was taken.
func (s sending) event(ctx context.Context, id string) (client.Receipt, error) {
	var last client.Receipt
	for range s.call.repeat + 1 {
		receipt, err := s.post(ctx, id)
		if err != nil {
			return last, err
		}
		last = receipt
	}
	return last, nil
}

// stage prints what happened at one stage.
func (s sending) stage(name, format string, args ...any) {
	fmt.Fprintf(s.out, "%-10s %s\n", name, fmt.Sprintf(format, args...))
}
