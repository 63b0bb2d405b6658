package config

import (
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/outbound"
	"weir/ratelimit"
	"weir/webhook"
)

// TestWholeHouse: every setting arrives where the program reads it.
func TestWholeHouse(t *testing.T) {
	got, err := Load([]string{
		"WEIR_ADDR=127.0.0.1:81", "WEIR_DATABASE=/data/weir.db", "WEIR_SOURCES=pay,plain-1", "WEIR_DESTINATIONS=app,spare",
		"WEIR_API_TOKEN=token-of-the-operator", "WEIR_API_TOKEN_PREVIOUS=token-of-yesterday-",
		"WEIR_PUBLIC_URL=https://hooks.example/", "WEIR_CLIENT_IP_HEADER=Fly-Client-IP", "WEIR_TRUSTED_PROXIES=10.0.0.0/8",
		"WEIR_REFUSED_RATE=5/1s", "WEIR_MAX_BODY=2MiB", "WEIR_MAX_INFLIGHT=8MiB", "WEIR_DEDUPE_WINDOW=1h",
		"WEIR_RETAIN_DELIVERED=2h", "WEIR_RETAIN_DEAD=3h", "WEIR_MAX_DATABASE=1GiB", "WEIR_SHUTDOWN_GRACE=4s",
		"WEIR_SHUTDOWN_DELAY=5s", "WEIR_IDLE_EXIT=6m", "WEIR_STALL_AFTER=7m", "WEIR_METRICS_ADDR=127.0.0.1:82", "WEIR_ADMIN_ADDR=127.0.0.1:83",
		"WEIR_ALERT_URL=https://chat.example/x", "WEIR_LOG_LEVEL=warn", "WEIR_LOG_FORMAT=json",
		"WEIR_SOURCE_PAY_SCHEME=hmac", "WEIR_SOURCE_PAY_SECRET=now", "WEIR_SOURCE_PAY_SECRET_PREVIOUS=before",
		"WEIR_SOURCE_PAY_KEY=header:X-Id", "WEIR_SOURCE_PAY_ON_CONFLICT=reject", "WEIR_SOURCE_PAY_TOLERANCE=1m",
		"WEIR_SOURCE_PAY_RATE=9/1s,99/1m", "WEIR_SOURCE_PAY_MAX_BODY=3MiB", "WEIR_SOURCE_PAY_SIGNED_BODY=decoded",
		"WEIR_SOURCE_PAY_HMAC_HEADER=X-Sig", "WEIR_SOURCE_PAY_HMAC_ALGORITHM=SHA512", "WEIR_SOURCE_PAY_HMAC_ENCODING=base64",
		"WEIR_SOURCE_PAY_HMAC_PREFIX=v1 ", "WEIR_SOURCE_PAY_HMAC_TIMESTAMP_HEADER=X-Time",
		"WEIR_SOURCE_PAY_HMAC_TEMPLATE={timestamp}.{id}.{body}", "WEIR_SOURCE_PAY_ALLOW_FROM=192.0.2.0/24",
		"WEIR_SOURCE_PAY_TO=app,spare", "WEIR_SOURCE_PAY_STATUS=202", "WEIR_SOURCE_PAY_DROP_HEADERS=X-A, X-B",
		"WEIR_SOURCE_PLAIN_1_SCHEME=none", "WEIR_SOURCE_PLAIN_1_TO=app",
		"WEIR_DESTINATION_APP_URL=http://u:p@app.example/in", `WEIR_DESTINATION_APP_HEADERS={"X-A":"b"}`,
		"WEIR_DESTINATION_APP_SIGNING_SECRET=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", "WEIR_DESTINATION_APP_TIMEOUT=1s",
		"WEIR_DESTINATION_APP_CONCURRENCY=2", "WEIR_DESTINATION_APP_RATE=60/1m,5000/24h", "WEIR_DESTINATION_APP_RETRY_BUDGET=3/1s",
		"WEIR_DESTINATION_APP_MAX_ATTEMPTS=4", "WEIR_DESTINATION_APP_MAX_AGE=5h", "WEIR_DESTINATION_APP_BACKOFF=6s",
		"WEIR_DESTINATION_APP_BACKOFF_MAX=7m", "WEIR_DESTINATION_APP_MAX_HOLD=8h", "WEIR_DESTINATION_APP_MAX_BODY=9KiB",
		"WEIR_DESTINATION_APP_FALLBACK=spare", "WEIR_DESTINATION_SPARE_URL=http://spare.example",
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wholeSettings(got), got,
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// wholeSettings is what TestWholeHouse asks for. Warnings, which have tests of
// their own, are those of got.
func wholeSettings(got Settings) Settings {
	want := Settings{
		Addr: "127.0.0.1:81", Database: "/data/weir.db",
		APIToken: "token-of-the-operator", APITokenPrevious: "token-of-yesterday-",
		PublicURL: "https://hooks.example", ClientIPHeader: "Fly-Client-IP",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		RefusedRate:    Rate{N: 5, Per: time.Second},
		MaxBody:        2 << 20, MaxInflight: 8 << 20, MaxDatabase: 1 << 30, DedupeWindow: Duration(time.Hour),
		RetainDelivered: Duration(2 * time.Hour), RetainDead: Duration(3 * time.Hour),
		ShutdownGrace: Duration(4 * time.Second), ShutdownDelay: Duration(5 * time.Second),
		IdleExit: Duration(6 * time.Minute), StallAfter: Duration(7 * time.Minute), MetricsAddr: "127.0.0.1:82", AdminAddr: "127.0.0.1:83",
		AlertURL: "https://chat.example/x", LogLevel: "warn", LogFormat: "json",
		URL:      "http://127.0.0.1:8080",
		Warnings: got.Warnings,
	}
	want.Sources = []Source{
		{
			Name: "pay", Scheme: "hmac", Secret: "now", SecretPrevious: "before", Key: "header:X-Id", OnConflict: "reject",
			Tolerance: Duration(time.Minute), Rate: []webhook.Rate{{N: 9, Per: time.Second}, {N: 99, Per: time.Minute}},
			MaxBody: 3 << 20, SignedBody: "decoded",
			HMACHeader: "X-Sig", HMACAlgorithm: "sha512", HMACEncoding: "base64", HMACPrefix: "v1 ",
			HMACTimestampHeader: "X-Time", HMACTimestampForm: "auto", HMACKeyEncoding: "text", HMACTemplate: "{timestamp}.{id}.{body}",
			TokenIn: "bearer", Renew: "auto", AllowFrom: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
			To: []string{"app", "spare"}, Status: 202, DropHeaders: []string{"X-A", "X-B"},
		},
		{
			Name: "plain-1", Scheme: "none", Tolerance: Duration(5 * time.Minute), Rate: []webhook.Rate{{N: 3000, Per: time.Minute}},
			MaxBody: 2 << 20, SignedBody: "wire", HMACAlgorithm: "sha256", HMACEncoding: "hex", HMACTimestampForm: "auto", HMACKeyEncoding: "text", HMACTemplate: "{body}",
			TokenIn: "bearer", Renew: "auto", To: []string{"app"}, Status: 200,
		},
	}
	want.Destinations = []Destination{
		{
			Name: "app", URL: "http://u:p@app.example/in", Headers: map[string]string{"X-A": "b"},
			SigningSecret: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", Timeout: Duration(time.Second), Concurrency: 2,
			Rate:        []webhook.Rate{{N: 60, Per: time.Minute}, {N: 5000, Per: 24 * time.Hour}},
			RetryBudget: Rate{N: 3, Per: time.Second}, MaxAttempts: 4, MaxAge: Duration(5 * time.Hour),
			Backoff: Duration(6 * time.Second), BackoffMax: Duration(7 * time.Minute), MaxHold: Duration(8 * time.Hour),
			MaxBody: 9 << 10, Fallback: "spare",
		},
		{
			Name: "spare", URL: "http://spare.example", Timeout: Duration(15 * time.Second), Concurrency: 4,
			RetryBudget: Rate{N: 30, Per: time.Minute}, MaxAttempts: 10, MaxAge: Duration(72 * time.Hour),
			Backoff: Duration(2 * time.Second), BackoffMax: Duration(15 * time.Minute), MaxHold: Duration(24 * time.Hour),
		},
	}
	return want
}

// TestPolicyHasEverySetting: what the dispatcher goes by is what was set.
func TestPolicyHasEverySetting(t *testing.T) {
	got, err := Load(houseWith(
		"WEIR_DESTINATIONS=default,spare", "WEIR_DESTINATION_SPARE_URL=http://spare.example",
		"WEIR_DESTINATION_DEFAULT_TIMEOUT=1s", "WEIR_DESTINATION_DEFAULT_CONCURRENCY=2", "WEIR_DESTINATION_DEFAULT_RATE=60/1m",
		"WEIR_DESTINATION_DEFAULT_RETRY_BUDGET=3/1s", "WEIR_DESTINATION_DEFAULT_MAX_ATTEMPTS=4", "WEIR_DESTINATION_DEFAULT_MAX_AGE=5h",
		"WEIR_DESTINATION_DEFAULT_BACKOFF=6s", "WEIR_DESTINATION_DEFAULT_BACKOFF_MAX=7m", "WEIR_DESTINATION_DEFAULT_MAX_HOLD=8h",
		"WEIR_DESTINATION_DEFAULT_MAX_BODY=9KiB", "WEIR_DESTINATION_DEFAULT_FALLBACK=spare",
	))
	if err != nil {
		t.Fatal(err)
	}
	policy := got.Destinations[0].Policy()
	want := webhook.Policy{
		Name: "default", Fingerprint: policy.Fingerprint, Timeout: time.Second, Concurrency: 2,
		Rate:        []webhook.Rate{{N: 60, Per: time.Minute}},
		RetryBudget: webhook.Rate{N: 3, Per: time.Second}, MaxAttempts: 4, MaxAge: 5 * time.Hour,
		Backoff: 6 * time.Second, BackoffMax: 7 * time.Minute, MaxHold: 8 * time.Hour, MaxBody: 9 << 10, Fallback: "spare",
	}
	if diff := cmp.Diff(want, policy); diff != "" {
		t.Error(diff)
	}
}

// TestTheRoomsTakeWhatWasChecked: nothing is left for them to refuse later.
func TestTheRoomsTakeWhatWasChecked(t *testing.T) {
	got, err := Load(houseWith(
		"WEIR_CLIENT_IP_HEADER=Fly-Client-IP", "WEIR_TRUSTED_PROXIES=10.0.0.0/8,::ffff:10.1.0.0/112,fd00::1",
		"WEIR_FORWARD_URL=http://user:p%40ss@[::1]:9/x?y=z", `WEIR_DESTINATION_DEFAULT_HEADERS={"Host":"h.example","X-A":"ü"}`,
		"WEIR_DESTINATION_DEFAULT_SIGNING_SECRET=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
	))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ratelimit.ClientAddress(ratelimit.Proxies{Header: string(got.ClientIPHeader), Trusted: got.TrustedProxies}); err != nil {
		t.Error(err)
	}
	d := got.Destinations[0]
	if _, err := outbound.New(outbound.Config{
		URL: string(d.URL), Headers: d.Headers, SigningSecret: string(d.SigningSecret), Timeout: d.Policy().Timeout, Secrets: got.Secrets(),
	}); err != nil {
		t.Error(err)
	}
}

// TestFingerprintChangesWithTheConfiguration and with nothing else.
func TestFingerprintChangesWithTheConfiguration(t *testing.T) {
	of := func(changes ...string) string {
		t.Helper()
		got, err := Load(houseWith(changes...))
		if err != nil {
			t.Fatal(err)
		}
		return got.Destinations[0].Policy().Fingerprint
	}
	prints := []string{
		of(),
		of("WEIR_FORWARD_URL=http://127.0.0.1:3000/out"),
		of("WEIR_FORWARD_URL=http://u:p@127.0.0.1:3000/in"),
		of("WEIR_DESTINATION_DEFAULT_SIGNING_SECRET=MDEy"),
		of(`WEIR_DESTINATION_DEFAULT_HEADERS={"A":"b"}`),
		of(`WEIR_DESTINATION_DEFAULT_HEADERS={"A":"c"}`),
		of(`WEIR_DESTINATION_DEFAULT_HEADERS={"A":"c","D":"e"}`),
	}
	if slices.Sort(prints); len(slices.Compact(prints)) != 7 || len(prints[0]) != 64 {
		t.Errorf("want 7 digests of 64 digits, got %q", prints)
	}
	if of() != of("WEIR_DESTINATION_DEFAULT_TIMEOUT=1s") {
		t.Error("a timeout changes the fingerprint")
	}
	if of(`WEIR_DESTINATION_DEFAULT_HEADERS={"A":"c","D":"e"}`) != of(`WEIR_DESTINATION_DEFAULT_HEADERS={"D":"e","a":"c"}`) {
		t.Error("order and case of header names change the fingerprint")
	}
}

// TestClientNeedsNoService: the client commands work where only they are
// configured, and where the service's settings are wrong.
func TestClientNeedsNoService(t *testing.T) {
	got, err := LoadClient([]string{"WEIR_URL=https://weir.example/", "WEIR_API_TOKEN= token-of-the-operator", "WEIR_MAX_BODY=x"})
	if err != nil {
		t.Fatal(err)
	}
	if got.URL != "https://weir.example" || got.Token != "token-of-the-operator" {
		t.Errorf("url %q, token of %d", got.URL, len(got.Token))
	}
	if got, err := LoadClient(nil); err != nil || got.URL != "http://127.0.0.1:8080" {
		t.Errorf("without settings: %q, %v", got.URL, err)
	}
	for _, wrong := range []string{"WEIR_URL=weir.example", "WEIR_API_TOKEN_FILE=/no/such/file"} {
		if _, err := LoadClient([]string{wrong}); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// TestLoadingLeavesTheEnvironmentAlone: what is laid out for envconfig is
// taken away, so that no secret stays where a child process would see it.
func TestLoadingLeavesTheEnvironmentAlone(t *testing.T) {
	before := os.Environ()
	if _, err := Load(houseWith("WEIR_MAX_BODY=wrong", "WEIR_API_TOKEN=token-of-the-operator")); err == nil {
		t.Fatal("a wrong size is taken")
	}
	for _, entry := range os.Environ() {
		if !slices.Contains(before, entry) && strings.HasPrefix(entry, "ENVCONFIG_") {
			t.Errorf("%s is left", strings.SplitN(entry, "=", 2)[0])
		}
	}
}

// TestTheLastOfTwoCounts and an empty value is none.
func TestTheLastOfTwoCounts(t *testing.T) {
	got, err := Load(houseWith("WEIR_MAX_BODY=1KiB", "WEIR_MAX_BODY=2KiB", "WEIR_DATABASE=", "WEIR_STALL_AFTER=  "))
	if err != nil {
		t.Fatal(err)
	}
	if got.MaxBody != 2<<10 || got.Database != "weir.db" || time.Duration(got.StallAfter) != 10*time.Minute {
		t.Errorf("max body %d, database %q, stall after %v", got.MaxBody, got.Database, got.StallAfter)
	}
}
