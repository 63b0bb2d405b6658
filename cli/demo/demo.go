// Package demo shows one bad day of a destination in half a minute, beside the
// loop that retries at once.
//
// # Guarantees
//
// It needs no settings and no network but loopback, and leaves nothing behind.
// It runs the code that serves. [Run] ends by itself within a minute unless it
// is told to stay, and returns [ErrLost] if a webhook that was answered with
// 2xx did not arrive.
//
// # Vocabulary
//
// A plan is what happens and when. The honest sender repeats some of its
// webhooks, the greedy one sends more than it may. The naive loop gets a copy of
// every webhook and delivers it to a destination of its own with the same script.
//
// # Example
//
//	err := demo.Run(ctx, demo.Config{Out: os.Stdout, Version: "devel", Listen: listen, Dial: dial})
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"weir/cli/client"
	"weir/config"
	"weir/flaky"
	"weir/service"
)

// Config is what a demo needs.
type Config struct {
	// Out gets what happens, line by line, and the table.
	Out io.Writer
	// JSON prints only the table, on one line.
	JSON bool
	// Stay keeps the service running after the table, until the context ends.
	Stay bool
	// Version is that of the program.
	Version string
	// Listen and dial make the connections, all on loopback.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// Run shows the service as it really runs, with a storm of senders in front
// of it and a destination that has a bad day behind it, beside a loop that
// retries at once and forever. It returns an error if a webhook was lost.
func Run(ctx context.Context, c Config) error {
	plan := fullPlan()
	if c.Stay {
		plan.after = keepRunning
	}
	return run(ctx, c, plan)
}

// live is where everything but the table goes.
func (c Config) live() io.Writer {
	if c.JSON {
		return io.Discard
	}
	return c.Out
}

// headerTimeout bounds the header of a request to a scripted destination.
const headerTimeout = 10 * time.Second

// ErrLost is the demo's failure.
var ErrLost = errors.New("demo: webhooks that were answered 200 did not arrive")

// demo is a running demonstration.
type demo struct {
	plan plan
	out  io.Writer
	// start is when the storm began.
	start time.Time
	// ours and theirs are the two destinations, with one script: behind weir
	// and behind the naive loop.
	ours   *flaky.Server
	theirs *flaky.Server
	naive  *flaky.Naive
	// toNaive is where the naive loop gets its copy of every webhook.
	toNaive chan flaky.Webhook
	api     *client.Client
	senders *senders
	url     string // of weir
	token   string
	folder  string // of its database and log
}

// run sets everything up on loopback, lets the storm pass, and tears it
// down again.
func run(ctx context.Context, c Config, p plan) (err error) {
	folder, err := os.MkdirTemp(p.temp, "weir-demo-")
	if err != nil {
		return fmt.Errorf("demo: make a folder for the database: %w", err)
	}
	defer func() {
		if !errors.Is(err, ErrLost) { // else it is the evidence
			os.RemoveAll(folder)
		}
	}()
	running, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel()

	d := &demo{plan: p, out: c.live(), folder: folder, toNaive: make(chan flaky.Webhook, 4096)}
	destination, err := d.openDestinations(running, c, &parts)
	if err != nil {
		return err
	}
	failed, err := d.openWeir(running, c, destination, &parts)
	if err != nil {
		return err
	}
	defer d.api.Close()
	return d.show(running, c, failed)
}

// openDestinations starts the two scripted destinations and the naive loop, and
// returns the address of the one behind weir.
func (d *demo) openDestinations(ctx context.Context, c Config, parts *sync.WaitGroup) (string, error) {
	var addresses [2]string
	for i, server := range [...]**flaky.Server{&d.ours, &d.theirs} {
		made, err := flaky.New(d.plan.script)
		if err != nil {
			return "", fmt.Errorf("demo: %w", err)
		}
		*server = made
		listener, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", fmt.Errorf("demo: listen on loopback: %w", err)
		}
		addresses[i] = "http://" + listener.Addr().String()
		serving := &http.Server{
			Handler: made, ReadHeaderTimeout: headerTimeout,
			BaseContext: func(net.Listener) context.Context { return ctx },
		}
		parts.Go(func() {
			defer context.AfterFunc(ctx, func() { _ = serving.Close() })()
			_ = serving.Serve(listener)
		})
	}
	d.naive = &flaky.Naive{
		URL: addresses[1],
		Client: &http.Client{Transport: &http.Transport{
			DialContext: c.Dial, MaxIdleConnsPerHost: naiveWorkers,
		}},
		Workers: naiveWorkers,
	}
	return addresses[0], nil
}

// openWeir starts the service by the code that serves, with settings as an
// operator would write them. What it says goes into a file. The channel gets
// its error, should it end before it is told to.
func (d *demo) openWeir(ctx context.Context, c Config, destination string, parts *sync.WaitGroup) (<-chan error, error) {
	s, err := config.Load(d.plan.environ(d, destination))
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	logFile, err := os.Create(filepath.Join(d.folder, "weir.log"))
	if err != nil {
		return nil, fmt.Errorf("demo: open the log: %w", err)
	}
	running, err := service.Open(ctx, service.Config{
		Settings: s, Version: c.Version, Log: logFile, Listen: c.Listen, Dial: c.Dial,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("demo: open weir: %w", err), logFile.Close())
	}
	ended := make(chan error, 1)
	parts.Go(func() {
		err := running.Run(ctx)
		ended <- errors.Join(err, running.Close(ctx), logFile.Close())
	})
	d.url = "http://" + running.Addr().String()
	d.api = client.New(client.Config{URL: d.url, Token: d.token, Version: c.Version, Dial: c.Dial})
	d.senders, err = newSenders(d, s)
	return ended, err
}

// show runs the storm, prints what happens, and prints the table.
func (d *demo) show(ctx context.Context, c Config, failed <-chan error) error {
	storm, calm := context.WithTimeout(ctx, d.plan.most)
	defer calm()
	d.start = time.Now()
	d.introduce()
	var parts sync.WaitGroup
	parts.Go(func() { d.naive.Run(storm, d.toNaive) })
	parts.Go(func() { d.senders.run(storm) })
	err := d.watch(storm, failed)
	calm()
	parts.Wait()
	if err != nil || ctx.Err() != nil { // somebody may have stopped it
		return err
	}
	sum := d.result()
	if err := sum.print(c.Out, c.JSON); err != nil {
		return fmt.Errorf("demo: print the table: %w", err)
	}
	if sum.Weir.Lost > 0 {
		fmt.Fprintf(d.out, "\nThe database and the log are kept in %s.\n", d.folder)
		return ErrLost
	}
	return d.plan.after(ctx, d)
}

// watch prints a line each second until everything has come in and has been
// delivered, the time is up, or somebody stops it.
func (d *demo) watch(ctx context.Context, failed <-chan error) error {
	view := view{demo: d}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-failed:
			return fmt.Errorf("demo: weir ended: %w", err)
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		view.line(ctx)
		if d.senders.counts().done && d.undelivered() == 0 {
			return nil
		}
	}
}

// keepRunning is what follows the table with --stay: a delivery that waits, a
// dead one, and the dashboard to find them in.
func keepRunning(ctx context.Context, d *demo) error {
	if err := d.senders.leaveTrouble(ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.out, `
weir keeps running; Ctrl-C ends it.

  dashboard  %[1]s/
  token      %[2]s

One webhook waits there, because the destination "crm" refuses the credentials,
and one is dead, because "archive" refused it. Find out why, and send the dead
one again: this time it is taken. Or from another terminal:

  export WEIR_URL=%[1]s WEIR_API_TOKEN=%[2]s
  %[3]s status
  %[3]s events
  %[3]s redeliver --filter state=dead --yes
`, d.url, d.token, calledAs(os.Args[0]))
	<-ctx.Done()
	return nil
}

// calledAs is how this program can be called again from where it was: "go run"
// builds it in a folder that is gone by then.
func calledAs(program string) string {
	if strings.Contains(program, "go-build") {
		return "go run ."
	}
	return program
}
