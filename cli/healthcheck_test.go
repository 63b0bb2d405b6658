package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// checked runs the healthcheck against an answer, and returns its error and
// the address that was dialled.
func checked(t *testing.T, status int, environ ...string) (string, error) {
	t.Helper()
	paths := make(chan string, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	defer server.Close()
	var dialled string
	w := Env{Environ: environ, Stdout: io.Discard, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = address
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	err := Run(context.Background(), w, []string{"healthcheck"})
	close(paths)
	for path := range paths {
		if path != "/healthz" {
			t.Errorf("asked for %s", path)
		}
	}
	return dialled, err
}

func TestHealthcheckFollowsTheService(t *testing.T) {
	for status, want := range map[int]int{200: ExitStopped, 503: ExitFailure, 302: ExitFailure, 204: ExitFailure} {
		_, err := checked(t, status)
		if got := ExitStatus(err, io.Discard); got != want {
			t.Errorf("answer %d: exit status %d (%v), want %d", status, got, err, want)
		}
	}
}

func TestHealthcheckAsksWhereTheServiceListens(t *testing.T) {
	for _, test := range []struct{ setting, want string }{
		{"", "127.0.0.1:8080"},
		{"PORT=9000", "127.0.0.1:9000"},
		{"WEIR_ADDR=0.0.0.0:9001", "127.0.0.1:9001"},
		{"WEIR_ADDR=[::]:9002", "[::1]:9002"},
		{"WEIR_ADDR=10.0.0.1:9003", "10.0.0.1:9003"},
	} {
		// The rest of the settings may be wrong: it is not what is asked.
		if got, err := checked(t, 200, test.setting, "WEIR_MAX_BODY=wrong"); err != nil || got != test.want {
			t.Errorf("%s: asked %s, %v, want %s", test.setting, got, err, test.want)
		}
	}
}

func TestHealthcheckRefusesAWrongAddress(t *testing.T) {
	for _, environ := range [][]string{{"WEIR_ADDR=nowhere"}, {"PORT=x"}} {
		err := Run(context.Background(), Env{Environ: environ, Stdout: io.Discard}, []string{"healthcheck"})
		if status := ExitStatus(err, io.Discard); status != ExitUsage {
			t.Errorf("%v: %v, status %d", environ, err, status)
		}
	}
}

func TestHealthcheckWaitsThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Env{Stdout: io.Discard, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		err := Run(context.Background(), w, []string{"healthcheck"})
		if err == nil || !strings.Contains(err.Error(), "no answer within 3s") {
			t.Errorf("got %v", err)
		}
	})
}

func TestVersionIsOneLine(t *testing.T) {
	var out bytes.Buffer
	if err := Run(context.Background(), Env{Version: "devel", Stdout: &out}, []string{"version"}); err != nil {
		t.Fatal(err)
	}
	line := out.String()
	if !strings.HasPrefix(line, "weir ") || strings.Count(line, "\n") != 1 || !strings.Contains(line, runtime.Version()) {
		t.Errorf("got %q", line)
	}
	if err := Run(context.Background(), Env{Version: "devel", Stdout: &out}, []string{"version", "x"}); !errors.As(err, new(usageError)) {
		t.Errorf("an argument: %v", err)
	}
}
