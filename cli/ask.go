package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/cli/client"
	"weir/config"
	"weir/webhook"
	"weir/webhook/wording"
)

// asking are the flags of the commands that ask a running service.
type asking struct {
	URL  serviceURL `placeholder:"URL" help:"Where the service is, instead of WEIR_URL."`
	JSON bool       `help:"Print JSON, as the API gives it."`
}

// serviceURL is the address of a service, without a slash at the end.
type serviceURL string

// UnmarshalText reads an http or https address. The error does not repeat it: it
// may hold credentials.
func (u *serviceURL) UnmarshalText(text []byte) error {
	target, err := url.Parse(string(text))
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return errors.New("must be an address such as http://127.0.0.1:8080")
	}
	*u = serviceURL(strings.TrimRight(string(text), "/"))
	return nil
}

// client returns a client of the service that the settings name, or --url.
func (a asking) client(env Env, s config.Client) *client.Client {
	if a.URL != "" {
		s.URL, s.URLFrom = string(a.URL), "--url"
	}
	return client.New(client.Config{URL: s.URL, URLFrom: s.URLFrom, Token: s.Token, Version: env.Version, Dial: env.Dial})
}

// errNoToken says what a client command lacks.
var errNoToken = usageError{errors.New("WEIR_API_TOKEN is not set: the operator API needs the token that the service runs with")}

// asOperator gives a command a client that has a token.
func (a asking) asOperator(env Env, do func(*client.Client) error) error {
	s, err := config.LoadClient(env.Environ)
	if err != nil {
		return err
	}
	if s.Token == "" {
		return errNoToken
	}
	api := a.client(env, s)
	defer api.Close()
	return do(api)
}

// kept is an answer of the API and the JSON that it was read from, which is
// printed where JSON is asked for.
type kept[T any] struct {
	value T
	text  json.RawMessage
}

// UnmarshalJSON keeps the text too.
func (k *kept[T]) UnmarshalJSON(text []byte) error {
	k.text = slices.Clone(text)
	return json.Unmarshal(text, &k.value)
}

// MarshalJSON returns the text as it came.
func (k kept[T]) MarshalJSON() ([]byte, error) { return k.text, nil }

// event is an event as the API gives it.
type event = kept[client.Event]

// findEvents returns the event with an id, else those with a key: several
// sources may use the same one.
func findEvents(ctx context.Context, api *client.Client, name string) ([]event, error) {
	if id, err := webhook.ParseID(name); err == nil {
		found := make([]event, 1)
		err := api.Get(ctx, "/v1/events/"+id.String(), &found[0])
		if err == nil || !client.NotFound(err) {
			return found, err
		}
	}
	var list client.List[event]
	if err := api.Get(ctx, "/v1/events?key="+url.QueryEscape(name), &list); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("no event has the id or the key %q", name)
	}
	for i, item := range list.Items {
		if err := api.Get(ctx, "/v1/events/"+item.value.ID.String(), &list.Items[i]); err != nil {
			return nil, err
		}
	}
	return list.Items, nil
}

// findDelivery returns the one event with an id or a key, and its delivery to a
// destination.
func findDelivery(ctx context.Context, api *client.Client, name, destination string) (client.Event, client.Delivery, error) {
	found, err := findEvents(ctx, api, name)
	if err != nil {
		return client.Event{}, client.Delivery{}, err
	}
	if len(found) > 1 {
		var ids []string
		for _, e := range found {
			ids = append(ids, fmt.Sprintf("%s of %s", e.value.ID, e.value.Source))
		}
		return client.Event{}, client.Delivery{}, usagef("several events have the key %q; name one by its id: %s", name, strings.Join(ids, ", "))
	}
	e := found[0].value
	var names []string
	for _, d := range e.Deliveries {
		if d.Destination == destination {
			return e, d, nil
		}
		names = append(names, d.Destination)
	}
	return e, client.Delivery{}, fmt.Errorf("event %s has no delivery to %q; there %s", e.ID, destination, isOrAre(names))
}

// unknownNames is an error where the service has no such source or destination;
// "" is none to look for. Where the service does not say, nothing is wrong.
func unknownNames(ctx context.Context, api *client.Client, source, destination string) error {
	for _, asked := range [][2]string{{"source", source}, {"destination", destination}} {
		kind, name := asked[0], asked[1]
		var list client.List[client.Source]
		if name == "" || api.Get(ctx, "/v1/"+kind+"s", &list) != nil {
			continue
		}
		var known []string
		for _, item := range list.Items {
			known = append(known, item.Name)
		}
		if !slices.Contains(known, name) {
			return usagef("there is no %s %q; there %s", kind, name, isOrAre(known))
		}
	}
	return nil
}

// isOrAre lists names behind the word that fits.
func isOrAre(names []string) string {
	switch len(names) {
	case 0:
		return "is none"
	case 1:
		return "is " + names[0]
	}
	return "are " + strings.Join(names, ", ")
}

// instant is a time in RFC 3339, as the API takes it.
type instant string

// UnmarshalText reads a time, a date, or how long ago it was.
func (i *instant) UnmarshalText(text []byte) error {
	at, err := readInstant(string(text), time.Now())
	*i = instant(at.UTC().Format(time.RFC3339Nano))
	return err
}

// readInstant reads a time (RFC 3339), a date in UTC, or how long ago it was
// (90m, 1d, 1d12h).
func readInstant(text string, now time.Time) (time.Time, error) {
	if ago, err := readSpan(text); err == nil {
		return now.Add(-ago), nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errors.New("must be a time such as 2026-11-30T03:27:11Z or 2026-11-30, or how long ago, such as 90m or 7d")
}

var errNoSpan = errors.New("must be a duration such as 90m, 7d or 1d12h")

// readSpan reads a duration that may begin with whole weeks and days, at most
// 5,000 of each.
func readSpan(text string) (time.Duration, error) {
	var whole time.Duration
	rest := text
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		digits, behind, found := strings.Cut(rest, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || n > 5_000 {
			return 0, errNoSpan
		}
		whole, rest = whole+time.Duration(n)*unit.length, behind
	}
	if rest == "" && text != "" {
		return whole, nil
	}
	part, err := time.ParseDuration(rest)
	if err != nil || part < 0 {
		return 0, errNoSpan
	}
	return whole + part, nil
}

// headerLine is a header as flags have it.
type headerLine string

// UnmarshalText refuses what is no header.
func (h *headerLine) UnmarshalText(text []byte) error {
	name, value, found := strings.Cut(string(text), ":")
	if !found || textproto.TrimString(name) == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
		return errors.New("must have a form like 'X-GitHub-Event: push'")
	}
	*h = headerLine(text)
	return nil
}

// cut returns name and value.
func (h headerLine) cut() (name, value string) {
	name, value, _ = strings.Cut(string(h), ":")
	return strings.TrimSpace(name), strings.TrimSpace(value)
}

// gateCmd is a command that changes a destination.
type gateCmd struct {
	Destination string `arg:"" help:"The destination."`
	asking
}

// pauseCmd is "weir pause".
type pauseCmd struct{ gateCmd }

// Help is shown by "weir help pause".
func (pauseCmd) Help() string {
	return `Events are received and stored as before; their deliveries wait, also over a restart, until an operator resumes the destination. A request that is in flight may end.

Example:

    weir pause crm`
}

// Run pauses the destination.
func (c *pauseCmd) Run(ctx context.Context, env Env) error { return c.post(ctx, env, "pause") }

// resumeCmd is "weir resume".
type resumeCmd struct{ gateCmd }

// Help is shown by "weir help resume".
func (resumeCmd) Help() string {
	return `Clears every hold of the destination, whatever its reason. What waits is sent at the pace of its gates.

Example:

    weir resume crm`
}

// Run resumes the destination.
func (c *resumeCmd) Run(ctx context.Context, env Env) error { return c.post(ctx, env, "resume") }

// post pauses or resumes the destination and prints how it is then.
func (c *gateCmd) post(ctx context.Context, env Env, verb string) error {
	return c.asOperator(env, func(api *client.Client) error {
		var d kept[client.Destination]
		err := api.Post(ctx, "/v1/destinations/"+url.PathEscape(c.Destination)+"/"+verb, nil, &d)
		switch {
		case client.NotFound(err):
			return cmp.Or(unknownNames(ctx, api, "", c.Destination), err)
		case err != nil:
			return err
		case c.JSON:
			return printJSON(env.Stdout, d)
		}
		printDestination(env.Stdout, d.value, time.Now())
		return nil
	})
}

// cancelCmd is "weir cancel".
type cancelCmd struct {
	ID          string `arg:"" help:"The event: its id, or the sender's own id of it."`
	Destination string `arg:"" help:"The destination of the delivery."`
	asking
}

// Help is shown by "weir help cancel".
func (cancelCmd) Help() string {
	return `The delivery is dead then, with the reason cancelled, and can be sent again by "weir redeliver".

Example:

    weir cancel 72d3162e-cc78-11e3 crm`
}

// Run ends the delivery.
func (c *cancelCmd) Run(ctx context.Context, env Env) error {
	return c.asOperator(env, func(api *client.Client) error {
		e, _, err := findDelivery(ctx, api, c.ID, c.Destination)
		if err != nil {
			return err
		}
		var changed kept[client.Delivery]
		if err := api.Post(ctx, deliveryPath(e.ID, c.Destination, "cancel"), nil, &changed); err != nil {
			return err
		}
		if c.JSON {
			return printJSON(env.Stdout, changed)
		}
		_, err = fmt.Fprintf(env.Stdout, "%s to %s is %s: %s\n", e.ID, c.Destination, changed.value.State, wording.Dead(webhook.DeadCancelled))
		return err
	})
}

// deliveryPath is where the API changes a delivery.
func deliveryPath(id webhook.ID, destination, verb string) string {
	return fmt.Sprintf("/v1/events/%s/deliveries/%s/%s", id, url.PathEscape(destination), verb)
}

// passes reports whether a fault may be gone at the next try: the service was
// not there, or said that it cannot answer now.
func passes(err error) bool {
	said, refused := errors.AsType[*client.Refusal](err)
	return !refused || said.Status >= http.StatusInternalServerError || said.Status == http.StatusTooManyRequests
}
