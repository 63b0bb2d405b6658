// Weir takes in a flood of webhooks and lets out a measured flow: it stores
// each webhook before it answers, recognises repeats, and delivers to your
// application at the pace that the application can bear.
//
// Run "weir help" for the commands and settings.
package main

import (
	"context"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"

	"weir/cli"
)

func main() {
	// net/http writes the bytes of strange answers to the standard logger,
	// past every redaction.
	log.SetOutput(io.Discard)
	ctx, stop := untilSignalled(context.Background())
	defer stop()
	os.Exit(cli.ExitStatus(cli.Run(ctx, realEnv(), os.Args[1:]), os.Stderr))
}

// signalled is the cause of a stop by a signal.
type signalled struct{ os.Signal }

// Error names the signal.
func (s signalled) Error() string { return "signal " + s.String() }

// untilSignalled returns a context that ends at the first SIGINT or SIGTERM. A
// second one ends the process at once with status 1: what was in flight is
// sent again after the next start.
func untilSignalled(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var watch sync.WaitGroup
	watch.Go(func() {
		if first, more := <-signals; more {
			cancel(signalled{first})
		}
		if _, more := <-signals; more {
			os.Exit(cli.ExitFailure)
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		watch.Wait()
		cancel(nil)
	}
}

// realEnv is the environment of this process.
func realEnv() cli.Env {
	w := cli.Env{
		Version: buildVersion(), Commit: orSetting(commit, "vcs.revision"), Date: orSetting(date, "vcs.time"),
		Environ: os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Listen:  cli.ListenInherited(activation.Files(true), (&net.ListenConfig{}).Listen),
		Dial:    (&net.Dialer{}).DialContext,
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		w.Heap = boundHeap
	}
	return w
}

// boundHeap sets the limit of the heap. Under it garbage may lie longer than by
// default: a heap of a few megabytes would be collected dozens of times a
// second. GOGC says otherwise.
func boundHeap(bytes int64) int64 {
	const percent = 200
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	return debug.SetMemoryLimit(bytes)
}

// What the linker may write with -X main.version=… and so on. They are never
// changed by the program.
var (
	version = ""
	commit  = ""
	date    = ""
)

// buildVersion returns the version for User-Agent and metrics: the linker's,
// else the module's, else "devel".
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// orSetting returns the linker's text, else what the go command recorded.
func orSetting(linked, key string) string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}
