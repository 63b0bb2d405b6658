package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// deafAddress returns an address at which nobody listens any more.
func deafAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// The commands do not follow WEIR_ADDR and PORT: where they reach nothing, or
// something else, they ask after the setting that they do follow.
func TestClientsAskAfterTheAddress(t *testing.T) {
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	problem := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"not_found","title":"Not found"}`)
	}))
	defer problem.Close()
	deaf := "http://" + deafAddress(t)
	for _, c := range []struct {
		rule, url string
		args      []string
		want      string
	}{
		{"nobody listens", deaf, []string{"status"}, "connection refused (is WEIR_URL right?)"},
		{"nobody listens to what is sent", deaf, []string{"send", "github"}, "connection refused (is WEIR_URL right?)"},
		{"nobody listens at --url", page.URL, []string{"send", "github", "--url", deaf}, "connection refused (is --url right?)"},
		{"somebody else answers", page.URL, []string{"status"}, "answers 404 (is WEIR_URL right?)"},
		{"weir itself has no such thing", problem.URL, []string{"status"}, "answers 404 not_found: Not found"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := quietEnv(io.Discard)
			w.Environ = []string{
				"WEIR_URL=" + c.url, "WEIR_API_TOKEN=" + testToken,
				"WEIR_SOURCES=github", "WEIR_SOURCE_GITHUB_SECRET=" + testSecret,
			}
			err := Run(t.Context(), w, c.args)
			if ExitStatus(err, io.Discard) != ExitFailure || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("got %v, want %q at the end", err, c.want)
			}
		})
	}
}

// What is wrong with a call is said in words that help to mend it.
func TestWrongCallsAreToldInWords(t *testing.T) {
	for _, c := range []struct {
		rule string
		args []string
		want string
	}{
		{"a length without a unit", []string{"send", "github", "--wait", "5"}, "must have a unit"},
		{"a length that is none", []string{"send", "github", "--wait", "soon"}, "must be a duration with a unit"},
		{"an argument where none is taken", []string{"events", "x"}, "events: unexpected argument x; see weir help events"},
		{"two where one is taken", []string{"status", "a", "b"}, "status: unexpected argument b; see weir help status"},
		{"three where two are taken", []string{"send", "a", "b", "c"}, "send: unexpected argument c; see weir help send"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := quietEnv(io.Discard)
			w.Environ = []string{"WEIR_API_TOKEN=" + testToken}
			err := Run(t.Context(), w, c.args)
			if ExitStatus(err, io.Discard) != ExitUsage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	length := wait(time.Second)
	if err := length.UnmarshalText([]byte("0")); err != nil || length != 0 {
		t.Errorf("0 needs no unit: %v", err)
	}
}

func TestABackupOfNothingAsksAfterTheDatabase(t *testing.T) {
	dir := t.TempDir()
	w := quietEnv(io.Discard)
	w.Environ = []string{"WEIR_DATABASE=" + filepath.Join(dir, "none.db")}
	err := Run(t.Context(), w, []string{"backup", filepath.Join(dir, "copy.db")})
	if ExitStatus(err, io.Discard) != ExitFailure || !strings.Contains(err.Error(), "is WEIR_DATABASE the one that the service runs with?") {
		t.Errorf("got %v", err)
	}
}

func TestAnAddressInUseTellsWhereAnotherIsSet(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w := quietEnv(io.Discard)
	w.Environ = environ("WEIR_ADDR="+listener.Addr().String(), "WEIR_DATABASE="+filepath.Join(t.TempDir(), "weir.db"))
	err = Run(t.Context(), w, []string{"serve"})
	if ExitStatus(err, io.Discard) != ExitFailure || !strings.Contains(err.Error(), "(WEIR_ADDR or PORT sets another address)") {
		t.Errorf("got %v", err)
	}
}
