package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"weir/flaky"
)

// flakyCommand is "weir flaky": it runs a scripted downstream until ctx ends.
func flakyCommand(ctx context.Context, w Env, args []string) error {
	call, err := parseFlaky(args, w.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return usageError{fmt.Errorf("flaky: %w", err)}
	}
	if call.print {
		text := json.NewEncoder(w.Stdout)
		text.SetEscapeHTML(false)
		text.SetIndent("", "  ")
		return text.Encode(call.script)
	}
	return serveFlaky(ctx, w, call)
}

// serveFlaky listens and answers.
func serveFlaky(ctx context.Context, w Env, call flakyCall) error {
	downstream, err := flaky.New(call.script)
	if err != nil {
		return usageError{fmt.Errorf("flaky: %w", err)}
	}
	listener, err := w.Listen(ctx, "tcp", call.addr)
	if err != nil {
		return fmt.Errorf("flaky: listening: %w", err)
	}
	downstream.Observe = flakyLog(w.Stderr)
	server := &http.Server{
		Handler:           downstream,
		ReadHeaderTimeout: 10 * time.Second,
		// What hangs by its script ends with ctx.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	fmt.Fprintf(w.Stdout, "flaky listens on http://%s\n", listener.Addr())
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
		// Requests that are still open are cut: a downstream that breaks
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
