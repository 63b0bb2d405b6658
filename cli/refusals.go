package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"weir/cli/client"
	"weir/webhook"
	"weir/webhook/wording"
)

// refusalsCmd is "weir refusals": why webhooks were refused.
type refusalsCmd struct {
	Source string          `placeholder:"NAME" help:"Of this source; unknown for what came to none."`
	Result *webhook.Result `enum:"${results}" placeholder:"RESULT" help:"With this result: ${enum}."`
	Since  instant         `placeholder:"TIME" help:"Refused from this time on, or since so long ago."`
	Follow bool            `help:"Go on with new refusals as they come in, oldest first."`
	asking
}

// Help is shown by "weir help refusals".
func (refusalsCmd) Help() string {
	return `Shows the last requests that each source has refused since the service began, newest first: why, and what to do. What one client is refused for again and again is counted.

Examples:

    weir refusals --source github --since 10m
    weir refusals --follow`
}

// refusalsEvery is the time between two looks of --follow.
const refusalsEvery = 2 * time.Second

// Run lists the refusals.
func (c *refusalsCmd) Run(ctx context.Context, env Env) error {
	return c.asOperator(env, func(api *client.Client) error {
		found, err := c.fetch(ctx, api, string(c.Since))
		if err != nil {
			return err
		}
		if len(found) == 0 && !c.Follow {
			if !c.JSON {
				fmt.Fprintln(env.Stdout, "nothing was refused")
			}
			if c.Source == unknownSource {
				return nil
			}
			return unknownNames(ctx, api, c.Source, "")
		}
		if c.Follow {
			return c.follow(ctx, api, env.Stdout, found)
		}
		for _, one := range found {
			if err := c.show(env.Stdout, one); err != nil {
				return err
			}
		}
		return nil
	})
}

// unknownSource is the name under which requests to no source are kept.
const unknownSource = "unknown"

// fetch asks for the refusals since a time, newest first.
func (c *refusalsCmd) fetch(ctx context.Context, api *client.Client, since string) ([]kept[client.Refused], error) {
	query := url.Values{}
	for name, value := range map[string]string{"source": c.Source, "since": since} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.Result != nil {
		query.Set("result", string(*c.Result))
	}
	var found client.List[kept[client.Refused]]
	if err := api.Get(ctx, "/v1/refusals?"+query.Encode(), &found); err != nil {
		return nil, err
	}
	return found.Items, nil
}

// follow prints what there is, oldest first, and then what is new until ctx ends.
func (c *refusalsCmd) follow(ctx context.Context, api *client.Client, out io.Writer, found []kept[client.Refused]) error {
	tick := time.NewTicker(refusalsEvery)
	defer tick.Stop()
	since := string(c.Since)
	shown := map[string]time.Time{} // by request id, those of the last moment
	for {
		for _, one := range slices.Backward(found) {
			at := one.value.At
			if _, again := shown[one.value.Request]; again {
				continue
			}
			if err := c.show(out, one); err != nil {
				return err
			}
			shown[one.value.Request] = at
			since = at.Format(time.RFC3339Nano)
		}
		for id, at := range shown {
			if at.Format(time.RFC3339Nano) != since {
				delete(shown, id)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		var err error
		if found, err = c.fetch(ctx, api, since); err != nil {
			return unlessEnded(ctx, err)
		}
	}
}

// show prints one refusal.
func (c *refusalsCmd) show(out io.Writer, one kept[client.Refused]) error {
	if c.JSON {
		return printJSON(out, one)
	}
	r := one.value
	times := ""
	if r.Count > 1 {
		times = fmt.Sprintf(", %d times since %s", r.Count, r.FirstAt.UTC().Format("15:04:05Z"))
	}
	_, err := fmt.Fprintf(out, "%s  %s  %s: %s%s\n    from %s, %s with %d bytes, request %s\n    %s\n",
		r.At.UTC().Format("2006-01-02 15:04:05Z"), r.Source, r.Result, wording.PlainLine(r.Reason), times,
		r.Client, wording.PlainLine(r.Method), r.Size, wording.PlainLine(r.Request), r.Remedy)
	return err
}
