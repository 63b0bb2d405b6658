package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"weir/config"
)

// healthcheckTimeout bounds the whole check.
const healthcheckTimeout = 3 * time.Second

// healthcheckCommand asks the service in the same container whether it can
// accept, for images without curl. It reads only WEIR_ADDR and PORT.
func healthcheckCommand(ctx context.Context, w Env, args []string) error {
	if len(args) > 0 {
		return usagef("weir healthcheck takes no arguments")
	}
	addr, err := config.ListenAddr(w.Environ)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, healthcheckTimeout,
		fmt.Errorf("no answer within %s", healthcheckTimeout))
	defer cancel()
	target := "http://" + net.JoinHostPort(config.Loopback(addr)) + "/healthz"
	status, err := getStatus(ctx, w, target)
	if err != nil {
		return fmt.Errorf("asking %s: %w", target, err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s answers %d", target, status)
	}
	_, err = fmt.Fprintln(w.Stdout, "ok")
	return err
}

// getStatus makes one GET request over a connection of its own: no proxy, no
// redirects, and the answer is read so far as to end it well.
func getStatus(ctx context.Context, w Env, target string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", "weir/"+w.Version)
	// A Transport lets a dial go on after its request was given up; this one
	// must end with the check.
	dial := func(_ context.Context, network, address string) (net.Conn, error) {
		return w.Dial(ctx, network, address)
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
