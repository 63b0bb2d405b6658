package main

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

	"weir/flaky"
)

// demoConfig is what a demo needs.
type demoConfig struct {
	// out gets what happens, line by line, and the table.
	out io.Writer
	// stay keeps the service running after the table, until the context ends.
	stay bool
	// version is that of the program.
	version string
	// listen and dial make the connections, all on loopback.
	listen func(ctx context.Context, network, address string) (net.Listener, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// demoRun shows the service as it really runs, with a storm of senders in front
// of it and a downstream that has a bad day behind it, beside a loop that
// retries at once and forever. It returns an error if a webhook was lost.
func demoRun(ctx context.Context, c demoConfig) error {
	plan := demoPlan()
	if c.stay {
		plan.after = keepRunning
	}
	return runDemo(ctx, c, plan)
}

// demoHeaderTimeout bounds the header of a request to a scripted downstream.
const demoHeaderTimeout = 10 * time.Second

// errDemoLost is the demo's failure.
var errDemoLost = errors.New("demo: webhooks that were answered 200 did not arrive")

// demo is a running demonstration.
type demo struct {
	plan plan
	out  io.Writer
	// start is when the storm began.
	start time.Time
	// ours and theirs are the two downstreams, with one script: behind weir
	// and behind the naive loop.
	ours   *flaky.Server
	theirs *flaky.Server
	naive  *flaky.Naive
	// toNaive is where the naive loop gets its copy of every webhook.
	toNaive chan flaky.Webhook
	api     *client
	senders *senders
	url     string // of weir
	token   string
	folder  string // of its database and log
}

// runDemo sets everything up on loopback, lets the storm pass, and tears it
// down again.
func runDemo(ctx context.Context, c demoConfig, p plan) (err error) {
	folder, err := os.MkdirTemp(p.temp, "weir-demo-")
	if err != nil {
		return fmt.Errorf("demo: make a folder for the database: %w", err)
	}
	defer func() {
		if !errors.Is(err, errDemoLost) { // else it is the evidence
			os.RemoveAll(folder)
		}
	}()
	running, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel()

	d := &demo{plan: p, out: c.out, folder: folder, toNaive: make(chan flaky.Webhook, 4096)}
	downstream, err := d.openDownstreams(running, c, &parts)
	if err != nil {
		return err
	}
	failed, err := d.openWeir(running, c, opening{downstream: downstream, parts: &parts})
	if err != nil {
		return err
	}
	defer d.api.close()
	return d.show(running, failed)
}

// openDownstreams starts the two scripted downstreams and the naive loop, and
// returns the address of the one behind weir.
func (d *demo) openDownstreams(ctx context.Context, c demoConfig, parts *sync.WaitGroup) (string, error) {
	var addresses [2]string
	for i, server := range [...]**flaky.Server{&d.ours, &d.theirs} {
		made, err := flaky.New(d.plan.script)
		if err != nil {
			return "", fmt.Errorf("demo: %w", err)
		}
		*server = made
		listener, err := c.listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", fmt.Errorf("demo: listen on loopback: %w", err)
		}
		addresses[i] = "http://" + listener.Addr().String()
		serving := &http.Server{
			Handler: made, ReadHeaderTimeout: demoHeaderTimeout,
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
			DialContext: c.dial, MaxIdleConnsPerHost: naiveWorkers,
		}},
		Workers: naiveWorkers,
	}
	return addresses[0], nil
}

// opening is what weir is started with.
type opening struct {
	downstream string
	parts      *sync.WaitGroup
}

// openWeir starts the service by the code that serves, with settings as an
// operator would write them. What it says goes into a file. The channel gets
// its error, should it end before it is told to.
func (d *demo) openWeir(ctx context.Context, c demoConfig, o opening) (<-chan error, error) {
	s, err := loadSettings(d.plan.environ(d, o.downstream))
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	logFile, err := os.Create(filepath.Join(d.folder, "weir.log"))
	if err != nil {
		return nil, fmt.Errorf("demo: open the log: %w", err)
	}
	running, err := openService(ctx, serviceConfig{
		settings: s, version: c.version, log: logFile, listen: c.listen, dial: c.dial,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("demo: open weir: %w", err), logFile.Close())
	}
	ended := make(chan error, 1)
	o.parts.Go(func() {
		err := running.run(ctx)
		ended <- errors.Join(err, running.close(ctx), logFile.Close())
	})
	d.url = "http://" + running.addr().String()
	d.api = newClient(clientConfig{url: d.url, token: d.token, version: c.version, dial: c.dial})
	d.senders, err = newSenders(d, s)
	return ended, err
}

// show runs the storm, tells about it, and prints the table.
func (d *demo) show(ctx context.Context, failed <-chan error) error {
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
	sum.print(d.out)
	if sum.weir.lost > 0 {
		fmt.Fprintf(d.out, "\nThe database and the log are kept in %s.\n", d.folder)
		return errDemoLost
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
		if d.senders.finished() && d.undelivered() == 0 {
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

One webhook waits there, because the downstream "crm" refuses the credentials,
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
