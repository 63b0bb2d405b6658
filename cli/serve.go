package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"weir/cli/demo"
	"weir/cli/explain"
	"weir/config"
	"weir/service"
	"weir/store/sqlite"
)

// serveCmd is "weir serve".
type serveCmd struct{}

// Help is shown by "weir help serve".
func (serveCmd) Help() string {
	return `Takes everything from the environment: "weir help settings" lists the settings, "weir config" prints those in force.

SIGTERM or SIGINT stops it: requests that are in flight may end, the rest is sent after the next start. A second signal stops it at once.

Exit status: 0 stopped or idle, 1 it could not start or go on, 2 wrong settings.

Example:

    WEIR_SOURCES=github WEIR_SOURCE_GITHUB_SECRET_FILE=/run/secrets/github \
    WEIR_FORWARD_URL=http://127.0.0.1:3000/webhooks weir`
}

// Run runs the service until a signal comes, it is idle, or it cannot go on.
func (serveCmd) Run(ctx context.Context, env Env) error {
	s, err := config.Load(env.Environ)
	if err != nil {
		return err
	}
	for {
		err := serveOnce(ctx, serviceOf(env, s))
		if !errors.Is(err, service.ErrNotIdle) || ctx.Err() != nil {
			return err
		}
	}
}

// serveOnce runs the service once.
func serveOnce(ctx context.Context, c service.Config) (err error) {
	running, err := service.Open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.Close(ctx)) }()
	return running.Run(ctx)
}

// serviceOf configures the service.
func serviceOf(env Env, s config.Settings) service.Config {
	return service.Config{
		Settings: s, Version: env.Version, Commit: env.Commit, Log: env.Stderr,
		Listen: env.Listen, Dial: env.Dial, Heap: env.Heap,
	}
}

// backupCmd is "weir backup".
type backupCmd struct {
	Path string `arg:"" help:"Where the copy goes; there must be no file yet."`
	JSON bool   `help:"Print JSON."`
}

// Help is shown by "weir help backup".
func (backupCmd) Help() string {
	return `Copies the database WEIR_DATABASE, also while the service runs: the copy is whole and consistent. To restore it, stop the service and put the copy in the place of the database, without the -wal, -shm and -departures files of the old one.

Example:

    weir backup /backup/weir-$(date +%F).db`
}

// Run copies the database.
func (c *backupCmd) Run(ctx context.Context, env Env) error {
	from, err := config.LoadDatabase(env.Environ)
	if err != nil {
		return err
	}
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database %s to copy: is WEIR_DATABASE the one that the service runs with?", from)
	}
	if err := sqlite.BackupFile(ctx, from, c.Path); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.Stdout, map[string]string{"from": from, "to": c.Path})
	}
	_, err = fmt.Fprintf(env.Stdout, "copied %s to %s\n", from, c.Path)
	return err
}

// configCmd is "weir config".
type configCmd struct {
	Check bool `help:"Only check whether the settings are right."`
}

// Help is shown by "weir help config".
func (configCmd) Help() string {
	return `Prints every setting that is in force with where it is from, secrets masked, and for each source what the sender's page must be set to.

Exit status: 0 right, 2 wrong: every problem is named.

Example:

    weir config --check && systemctl restart weir`
}

// Run prints the settings, or "ok".
func (c *configCmd) Run(env Env) error {
	if !c.Check {
		return config.Print(env.Environ, env.Stdout, env.Stderr)
	}
	if err := config.Print(env.Environ, nil, env.Stderr); err != nil {
		return err
	}
	_, err := fmt.Fprintln(env.Stdout, "ok")
	return err
}

// explainCmd is "weir explain".
type explainCmd struct {
	What string `arg:"" enum:"request,response,wait" help:"One of ${enum}."`
	File string `arg:"" optional:"" help:"A file with JSON: one object, or an array of them. Without it, or with -, standard input."`
}

// Help is shown by "weir help explain".
func (explainCmd) Help() string {
	return `Prints a line of JSON for each case, by the code that serves. It is the way to report an answer that was misread: see docs/outcomes.md.

    request   a signed request: {"name","scheme","secret","method","headers","body",…}
              → verdict, reason, delivery id; secrets are counted from 1 here,
              the current one first, and from 0 in the log and the metrics
    response  an answer of a destination: {"id","status","headers","body"}
              → class, wait, pace, the rule that decided, evidence
    wait      a field that says when to come back: {"id","header","value",…}
              → milliseconds; "invalid" also where "header" is missing, which
              says how the value is read

Examples:

    echo '{"status":429,"headers":{"Retry-After":"30"}}' | weir explain response
    weir explain wait cases.json`
}

// Run answers "what would weir make of this?".
func (c *explainCmd) Run(env Env) error {
	in := env.Stdin
	if c.File != "" && c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return usagef("explain: open what to explain: %w", err)
		}
		defer file.Close()
		in = file
	}
	return map[string]func(io.Reader, io.Writer) error{
		"request": explain.Request, "response": explain.Response, "wait": explain.Wait,
	}[c.What](in, env.Stdout)
}

// demoCmd is "weir demo".
type demoCmd struct {
	JSON bool `help:"Print only the table, as JSON." xor:"form"`
	Stay bool `xor:"form" help:"Keep running afterwards, with a delivery that waits and one that is dead, and print the address and the token of the dashboard."`
}

// Help is shown by "weir help demo".
func (demoCmd) Help() string {
	return `Needs no settings and no network: everything runs on this machine's loopback, with a database in a temporary folder. It ends by itself in half a minute with a table, and with status 1 if a webhook was lost.

Example:

    weir demo --stay`
}

// Run shows the service as it really runs, with a storm of senders in front of
// it and a destination that has a bad day behind it, beside a loop that retries
// at once and forever.
func (c *demoCmd) Run(ctx context.Context, env Env) error {
	return demo.Run(ctx, demo.Config{
		Out: env.Stdout, JSON: c.JSON, Stay: c.Stay, Version: env.Version, Listen: env.Listen, Dial: env.Dial,
	})
}

// versionCmd is "weir version".
type versionCmd struct {
	JSON bool `help:"Print JSON."`
}

// Run prints version, commit, date, Go release and platform on one line.
func (c *versionCmd) Run(env Env) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if c.JSON {
		return printJSON(env.Stdout, map[string]string{
			"version": env.Version, "commit": env.Commit, "date": env.Date, "go": runtime.Version(), "platform": platform,
		})
	}
	line := "weir " + env.Version
	if env.Commit != "" {
		line += ", commit " + env.Commit
	}
	if env.Date != "" {
		line += ", of " + env.Date
	}
	_, err := fmt.Fprintf(env.Stdout, "%s, %s %s\n", line, runtime.Version(), platform)
	return err
}

// printJSON writes a value on one line.
func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// healthcheckTimeout bounds the whole check.
const healthcheckTimeout = 3 * time.Second

// healthcheckCmd is "weir healthcheck".
type healthcheckCmd struct{}

// Help is shown by "weir help healthcheck".
func (healthcheckCmd) Help() string {
	return `Asks the service at WEIR_ADDR (or PORT) on this machine, for images without curl.

Exit status: 0 it can accept, 1 it cannot.

Example:

    HEALTHCHECK CMD ["/weir", "healthcheck"]`
}

// Run asks the service in the same container whether it can accept. It reads
// only WEIR_ADDR and PORT.
func (healthcheckCmd) Run(ctx context.Context, env Env) error {
	addr, err := config.ListenAddr(env.Environ)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, healthcheckTimeout,
		fmt.Errorf("no answer within %s", healthcheckTimeout))
	defer cancel()
	target := "http://" + net.JoinHostPort(config.Loopback(addr)) + "/healthz"
	status, err := getStatus(ctx, env, target)
	if err != nil {
		return fmt.Errorf("asking %s: %w", target, err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s answers %d", target, status)
	}
	_, err = fmt.Fprintln(env.Stdout, "ok")
	return err
}

// getStatus makes one GET request over a connection of its own: no proxy, no
// redirects, and the answer is read so far as to end it well.
func getStatus(ctx context.Context, env Env, target string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", "weir/"+env.Version)
	// A Transport lets a dial go on after its request was given up; this one
	// must end with the check.
	dial := func(_ context.Context, network, address string) (net.Conn, error) {
		return env.Dial(ctx, network, address)
	}
	client := http.Client{
		Transport:     &http.Transport{DialContext: dial, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return 0, cause
		}
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10))
	return response.StatusCode, err
}
