//go:build interop

package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/signature"
)

// weir is the path of the built program.
var weir string

func build(folder string) (string, error) {
	path := filepath.Join(folder, "weir")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "weir").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

const (
	publicURL = "https://hooks.example.com"
	token     = "a-token-of-the-tests"
	whsec     = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
)

// sender is a source, named like the library that its application uses.
type sender struct{ library, scheme, secret string }

// senders are those whose libraries refuse what is late.
var senders = []sender{
	{"stripe", "stripe", "whsec_of_stripe"},
	{"svix", "standard", whsec},
	{"standardwebhooks", "standard", whsec},
	{"openai", "standard", whsec},
	{"resend", "standard", whsec},
	{"clerk", "standard", whsec},
	{"slack", "slack", "secret-of-slack"},
	{"hubspot", "hubspot", "secret-of-hubspot"},
	{"paddle", "paddle", "pdl_ntfset_secret"},
}

// verifier returns what signs as the sender does.
func (s sender) verifier(t *testing.T) *signature.Verifier {
	t.Helper()
	v, err := signature.New(signature.Config{
		Scheme: s.scheme, Source: s.library, Secrets: []string{s.secret}, PublicURL: publicURL,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// signed returns a small event that was signed at a time.
func (s sender) signed(t *testing.T, id string, at time.Time) signature.Request {
	t.Helper()
	v := s.verifier(t)
	r, err := v.Sign(v.Sample(id, at), id, at)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains([]string{"svix", "resend", "clerk"}, s.library) {
		for _, part := range []string{"Id", "Timestamp", "Signature"} {
			r.Header["Svix-"+part] = r.Header["Webhook-"+part]
			r.Header.Del("Webhook-" + part)
		}
	}
	return r
}

// arrival is a request that reached the application.
type arrival struct {
	path, source, event string
	header              http.Header
	at                  time.Time
	status              int
	reason              error
}

// application hands each request to the library of its source, behind a few
// refusals of its own.
type application struct {
	*httptest.Server
	mu       sync.Mutex
	refusals map[string]int // of each path, still to come
	arrivals []arrival
}

func newApplication(t *testing.T, refusals map[string]int) *application {
	t.Helper()
	a := &application{refusals: refusals}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *application) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	got := arrival{
		path: r.URL.Path, source: r.Header.Get("Weir-Source"), event: r.Header.Get("Weir-Event-Id"),
		header: r.Header, at: time.Now(), status: http.StatusOK,
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusals[got.path] > 0 {
		a.refusals[got.path]--
		got.status = http.StatusServiceUnavailable
		if got.path == "/held" {
			got.status = http.StatusTooManyRequests
			w.Header().Set("Retry-After", "3")
		}
	} else if got.reason = a.verify(got, r, body); got.reason != nil {
		got.status = http.StatusBadRequest
	}
	a.arrivals = append(a.arrivals, got)
	w.WriteHeader(got.status)
}

func (a *application) verify(got arrival, r *http.Request, body []byte) error {
	for _, s := range senders {
		if s.library == strings.TrimSuffix(got.source, "-never") {
			return accepts(s.library, s.secret, publicURL+"/hooks/"+s.library, r.Header, body)
		}
	}
	return errors.New("no library for source " + got.source)
}

// answered returns the arrivals at a path with a status.
func (a *application) answered(path string, status int) []arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []arrival
	for _, one := range a.arrivals {
		if one.path == path && one.status == status {
			found = append(found, one)
		}
	}
	return found
}

// service is a running weir.
type service struct {
	url string
	log *bytes.Buffer
}

// serve starts weir with a source for each sender, and stops it when the test
// ends. The tolerance lets in what was signed an hour ago, as if it had come in
// then and waited since.
func serve(t *testing.T, a *application, destinations []string, sources ...sender) service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	var names []string
	environ := []string{
		"WEIR_ADDR=" + address, "WEIR_DATABASE=" + filepath.Join(t.TempDir(), "weir.db"),
		"WEIR_PUBLIC_URL=" + publicURL, "WEIR_API_TOKEN=" + token, "WEIR_DESTINATIONS=" + strings.Join(destinations, ","),
	}
	for _, name := range destinations {
		prefix := "WEIR_DESTINATION_" + strings.ToUpper(name) + "_"
		environ = append(environ, prefix+"URL="+a.URL+"/"+name, prefix+"TIMEOUT=60s",
			prefix+"BACKOFF=100ms", prefix+"BACKOFF_MAX=500ms", prefix+"RETRY_BUDGET=1000/1m")
	}
	for _, s := range sources {
		names = append(names, s.library)
		prefix := "WEIR_SOURCE_" + strings.ToUpper(strings.ReplaceAll(s.library, "-", "_")) + "_"
		environ = append(environ, prefix+"SCHEME="+s.scheme, prefix+"SECRET="+s.secret, prefix+"TOLERANCE=2h",
			prefix+"TO="+strings.Join(destinations, ","))
		if strings.HasSuffix(s.library, "-never") {
			environ = append(environ, prefix+"RENEW=never")
		}
	}
	svc := service{url: "http://" + address, log: &bytes.Buffer{}}
	command := exec.Command(weir)
	command.Env = append(environ, "WEIR_SOURCES="+strings.Join(names, ","))
	command.Stdout, command.Stderr = svc.log, svc.log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		if t.Failed() {
			t.Logf("weir said:\n%s", svc.log)
		}
	})
	await(t, "weir is ready", func() bool {
		response, err := http.Get(svc.url + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return svc
}

// post sends an event and returns weir's name for it.
func (svc service) post(t *testing.T, r signature.Request) string {
	t.Helper()
	request, err := http.NewRequest(r.Method, svc.url+r.Target, bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = r.Header.Clone()
	return svc.do(t, request, http.StatusOK)
}

// redeliver sends a delivered event again.
func (svc service) redeliver(t *testing.T, event, destination string) {
	t.Helper()
	request, err := http.NewRequest("POST", svc.url+"/v1/events/"+event+"/deliveries/"+destination+"/redeliver",
		strings.NewReader(`{"force":true}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	svc.do(t, request, http.StatusAccepted)
}

func (svc service) do(t *testing.T, request *http.Request, want int) string {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != want {
		t.Fatalf("%s %s: %d %s", request.Method, request.URL.Path, response.StatusCode, text)
	}
	var answer struct{ ID string }
	_ = json.Unmarshal(text, &answer)
	return answer.ID
}

// await waits for what happens in another process.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(60 * time.Second); !condition(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// signatureHeaders are the fields of which one holds the signature.
var signatureHeaders = []string{
	"Stripe-Signature", "Svix-Signature", "Webhook-Signature", "X-Slack-Signature", "X-Hubspot-Signature-V3", "Paddle-Signature",
}

func signatureOf(header http.Header) string {
	for _, name := range signatureHeaders {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// TestLibrariesAcceptADeliveryThatIsAnHourLate: at once, after answers 503,
// after a hold, and redelivered.
func TestLibrariesAcceptADeliveryThatIsAnHourLate(t *testing.T) {
	t.Parallel()
	app := newApplication(t, map[string]int{"/flaky": 4, "/held": 1})
	svc := serve(t, app, []string{"app", "flaky", "held"}, senders...)
	events := map[string]string{}
	original := map[string]string{}
	for _, s := range senders {
		r := s.signed(t, "late-"+s.library, time.Now().Add(-time.Hour))
		original[s.library] = signatureOf(r.Header)
		if err := accepts(s.library, s.secret, publicURL+r.Target, r.Header, r.Body); err == nil {
			t.Errorf("%s accepts what is an hour old: this test shows nothing", s.library)
		}
		events[svc.post(t, r)] = s.library
	}
	for _, path := range []string{"/app", "/flaky", "/held"} {
		await(t, "all arrive at "+path, func() bool {
			return len(app.answered(path, http.StatusOK))+len(app.answered(path, http.StatusBadRequest)) >= len(senders)
		})
	}
	for event := range events {
		svc.redeliver(t, event, "app")
	}
	await(t, "all arrive once more", func() bool { return len(app.answered("/app", http.StatusOK)) >= 2*len(senders) })
	for _, path := range []string{"/app", "/flaky", "/held"} {
		for _, one := range app.answered(path, http.StatusBadRequest) {
			t.Errorf("%s at %s: %v", one.source, path, one.reason)
		}
		accepted := map[string]int{}
		for _, one := range app.answered(path, http.StatusOK) {
			accepted[one.source]++
			if signatureOf(one.header) == original[one.source] {
				t.Errorf("%s at %s: the aged signature was sent", one.source, path)
			}
		}
		want := map[string]int{}
		for _, s := range senders {
			want[s.library] = 1
			if path == "/app" {
				want[s.library] = 2
			}
		}
		if !maps.Equal(accepted, want) {
			t.Errorf("accepted at %s: %v, want %v", path, accepted, want)
		}
	}
	if len(app.answered("/flaky", http.StatusServiceUnavailable)) != 4 || len(app.answered("/held", http.StatusTooManyRequests)) != 1 {
		t.Error("the application did not refuse what it was to refuse")
	}
}

// TestAQuickDeliveryCarriesTheSendersOwnSignature, byte for byte. On a machine
// so slow that the signature ages on its way another event is tried.
func TestAQuickDeliveryCarriesTheSendersOwnSignature(t *testing.T) {
	t.Parallel()
	app := newApplication(t, nil)
	svc := serve(t, app, []string{"app"}, senders...)
	for _, s := range senders {
		t.Run(s.library, func(t *testing.T) {
			for try := range 10 {
				at := time.Now()
				r := s.signed(t, fmt.Sprint("quick-", s.library, try), at)
				event := svc.post(t, r)
				var got arrival
				await(t, "the event arrives", func() bool {
					for _, one := range append(app.answered("/app", http.StatusOK), app.answered("/app", http.StatusBadRequest)...) {
						if one.event == event {
							got = one
						}
					}
					return got.event != ""
				})
				if got.reason != nil {
					t.Fatalf("refused: %v", got.reason)
				}
				if got.at.Sub(at) >= signature.SignAge-time.Second {
					continue // seconds are cut off in most schemes
				}
				for name, values := range r.Header {
					if !slices.Equal(values, got.header[name]) {
						t.Errorf("%s: %q, sent as %q", name, got.header[name], values)
					}
				}
				return
			}
			t.Error("none of ten events arrives within a second")
		})
	}
}

// TestWithoutRenewalTheLibraryRefuses: what the renewal is for.
func TestWithoutRenewalTheLibraryRefuses(t *testing.T) {
	t.Parallel()
	app := newApplication(t, nil)
	never := sender{"stripe-never", "stripe", "whsec_of_stripe"}
	svc := serve(t, app, []string{"app"}, never)
	r := never.signed(t, "late-never", time.Now().Add(-time.Hour))
	svc.post(t, r)
	await(t, "the event arrives", func() bool { return len(app.answered("/app", http.StatusBadRequest)) > 0 })
	if got := app.answered("/app", http.StatusBadRequest)[0]; signatureOf(got.header) != signatureOf(r.Header) {
		t.Error("RENEW=never, and the signature is another")
	}
}
