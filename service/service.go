// Package service is the running program: it opens the store, connects the
// packages, listens, delivers, and stops in the reverse order.
//
// # Guarantees
//
// [Open] returns only when events can be accepted, and what the last run left is
// known. [Service.Run] returns when nothing that it started is running any more.
// A stop cuts no event that was answered with 2xx and spends no attempt that it
// cut. Nothing outlives Run but the store, which Close closes.
//
// # Vocabulary
//
// The in-flight log notes beside the database which attempts are out, so that a
// start after a crash knows. Auxiliary servers are the listeners of
// WEIR_METRICS_ADDR and WEIR_ADMIN_ADDR and the sender of alerts: they start first and stop last. A
// removed destination is one that is not configured any more.
//
// # Example
//
//	s, err := service.Open(ctx, service.Config{Settings: settings, Log: os.Stderr, Listen: listen, Dial: dial})
//	if err != nil {
//		return err
//	}
//	defer s.Close(ctx)
//	return s.Run(ctx) // until ctx ends or a part fails
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"weir/config"
	"weir/dispatch"
	"weir/handler"
	"weir/outbound"
	"weir/ratelimit"
	"weir/service/alert"
	"weir/service/metrics"
	"weir/signature"
	"weir/store/sqlite"
	"weir/webhook"
)

// maxBodiesOut bounds the bytes of all bodies on their way out at once.
const maxBodiesOut = 40 << 20

// Service is a running weir.
type Service struct {
	settings    config.Settings
	version     string
	log         *slog.Logger
	store       *sqlite.Store
	inFlightLog *inFlightLog
	dispatcher  *dispatch.Dispatcher
	stats       *handler.Stats
	server      *http.Server
	listener    net.Listener
	// meters count, page shows them, and alerter decides what a person is told.
	meters  *metrics.Meters
	page    *metrics.Page
	alerter *alert.Alerter
	// failures bounds what strangers may try, inflight what their bodies may
	// take of the memory.
	failures *ratelimit.FailureLimiter
	inflight *ratelimit.Inflight
	// gatesChanged has room for one hint to look at the holds.
	gatesChanged chan struct{}
	// full has room for one hint that room is short.
	full chan struct{}
	// auxiliary runs until everything else has ended.
	auxiliary auxiliaryServers
	// draining is set when a stop has begun. lastRequest is how long after
	// created the last request came in, in nanoseconds: a wall clock may jump.
	draining    atomic.Bool
	created     time.Time
	lastRequest atomic.Int64
	// acceptFault is how long after created the last fault of accepting a
	// connection was logged, in nanoseconds; 0 is never.
	acceptFault atomic.Int64
	// cut counts the attempts that a stop has ended.
	cut atomic.Int64
}

// Config is what a service needs.
type Config struct {
	Settings config.Settings
	// Version and commit are those of the program; commit may be empty.
	Version string
	Commit  string
	// Log gets the lines of the log: text where it is a terminal, else JSON.
	Log io.Writer
	// Listen opens the listeners of WEIR_ADDR, WEIR_METRICS_ADDR and
	// WEIR_ADMIN_ADDR, dial the
	// connections to destinations and to WEIR_ALERT_URL.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// Heap sets the size of the heap, in bytes, from which on garbage is
	// collected at once; nil leaves it.
	Heap func(bytes int64) int64
}

// Open opens the store, takes the destinations over, puts the parts
// together and listens. Nothing is received or sent before Run. Whoever opens a
// service closes it.
func Open(ctx context.Context, c Config) (*Service, error) {
	if c.Heap != nil {
		c.Heap(heapOf(c.Settings))
	}
	svc, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := svc.listenAll(ctx, c); err != nil {
		return nil, errors.Join(err, svc.Close(ctx))
	}
	return svc, nil
}

// Addr is the address that the service listens on.
func (svc *Service) Addr() net.Addr { return svc.listener.Addr() }

// open does all of Open but to listen.
func open(ctx context.Context, c Config) (*Service, error) {
	svc := newService(c)
	s := c.Settings
	for _, warning := range s.Warnings {
		svc.log.Warn(warning)
	}
	var err error
	svc.store, err = sqlite.Open(ctx, sqlite.Config{
		Path: string(s.Database), DedupeWindow: time.Duration(s.DedupeWindow), MaxBytes: databaseCap(s), Observe: svc.committed,
	})
	if err != nil {
		return nil, err
	}
	svc.rememberVerified()
	if svc.inFlightLog, err = openInFlightLog(svc.store.Path()); err == nil {
		err = svc.wire(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, svc.Close(ctx))
	}
	return svc, nil
}

// newService returns a service that only counts and watches: nothing is open yet.
func newService(c Config) *Service {
	now, s := time.Now(), c.Settings
	svc := &Service{
		settings: s, version: c.Version, log: newLogger(c.Log, s), stats: handler.NewStats(), meters: metrics.New(metersOf(c, now)),
		failures:     ratelimit.NewFailureLimiter(webhook.Rate(s.RefusedRate)),
		gatesChanged: make(chan struct{}, 1), full: make(chan struct{}, 1), created: now,
	}
	svc.inflight = ratelimit.NewInflight(int64(s.MaxInflight), largestBody(s), svc.failures.Known)
	svc.page = &metrics.Page{Refresh: svc.readGauges, Meters: svc.meters}
	svc.alerter = alert.New(svc.alertConfig(c, now))
	return svc
}

// largestBody returns the largest body that any source takes, in bytes.
func largestBody(s config.Settings) int64 {
	largest := int64(s.MaxBody)
	for _, source := range s.Sources {
		largest = max(largest, int64(source.MaxBody))
	}
	return largest
}

// metersOf says which series there are.
func metersOf(from Config, now time.Time) metrics.Config {
	s := from.Settings
	c := metrics.Config{
		Sources: map[string]int{}, Version: from.Version, Commit: from.Commit, Started: now,
	}
	for _, source := range s.Sources {
		c.Sources[source.Name] = len(source.Secrets())
	}
	for _, destination := range s.Destinations {
		c.Destinations = append(c.Destinations, destination.Name)
	}
	for _, result := range alert.Results() {
		c.AlertResults = append(c.AlertResults, string(result))
	}
	return c
}

// alertConfig says how messages for a person are sent.
func (svc *Service) alertConfig(from Config, now time.Time) alert.Config {
	c := alert.Config{
		URL:     string(svc.settings.AlertURL),
		Secrets: outbound.NewSecrets(svc.settings.Secrets()...), Version: from.Version, Dial: from.Dial,
		Log: svc.log, Count: func(result alert.Result) { svc.meters.Alerted(string(result)) }, Started: now,
	}
	return c
}

// Close closes the store, so that the next start finds a clean stop, and then
// the in-flight log: what it still holds tells that start what the store lacks.
func (svc *Service) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var errs []error
	if err := svc.store.Close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("close the store: %w", err))
	}
	if svc.inFlightLog != nil {
		errs = append(errs, svc.inFlightLog.close())
	}
	return errors.Join(errs...)
}

// wire connects the dispatcher and the HTTP handlers with the open store.
func (svc *Service) wire(ctx context.Context, c Config) error {
	verifiers, err := svc.verifiers()
	if err != nil {
		return err
	}
	routes, err := svc.routes(c, svc.renewer(verifiers))
	if err != nil {
		return err
	}
	start := dispatch.AfterCrash
	if svc.store.CleanStart() {
		start = dispatch.AfterStop
	}
	svc.dispatcher, err = dispatch.New(ctx, dispatch.Config{
		Queue: watchedStore{svc.store, svc}, Ledger: svc.store, InFlightLog: svc.inFlightLog, Routes: routes, Start: start,
		MaxBytes: maxBodiesOut, Chance: rand.Float64, Log: svc.log, Observe: svc.sent,
	})
	if err != nil {
		return err
	}
	svc.alerter.Seed(svc.holdsForPerson(time.Now()))
	if err := svc.rememberAccepted(ctx); err != nil {
		return err
	}
	inside, err := svc.handlerConfig(ctx, verifiers)
	if err != nil {
		return err
	}
	public := handler.New
	if svc.settings.AdminAddr != "" {
		public = handler.NewPublic
		svc.auxiliary.add("WEIR_ADMIN_ADDR", string(svc.settings.AdminAddr), handler.NewServer(svc.countRequests(handler.NewAdmin(inside)), svc.log))
	}
	svc.server = handler.NewServer(svc.countRequests(public(inside)), svc.log)
	return nil
}

// verifiers returns the verifier of each source, by its name.
func (svc *Service) verifiers() (map[string]*signature.Verifier, error) {
	verifiers := map[string]*signature.Verifier{}
	for _, s := range svc.settings.Sources {
		verifier, err := signature.New(s.SignatureConfig(svc.settings.PublicURL))
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", s.Name, err)
		}
		verifiers[s.Name] = verifier
	}
	return verifiers, nil
}

// renewal makes the signature of an aged request anew: [outbound.Config.Renew].
type renewal func(source string, header http.Header, body []byte, now time.Time) http.Header

// renewer returns what renews the signatures of the sources that want it.
func (svc *Service) renewer(verifiers map[string]*signature.Verifier) renewal {
	verifiers = maps.Clone(verifiers)
	for _, s := range svc.settings.Sources {
		if s.Renew == "never" {
			delete(verifiers, s.Name)
		}
	}
	return func(source string, header http.Header, body []byte, now time.Time) http.Header {
		if verifier, found := verifiers[source]; found {
			return verifier.Renew(header, body, now)
		}
		return nil
	}
}

// routes returns the destinations with their clients.
func (svc *Service) routes(c Config, renew renewal) ([]dispatch.Route, error) {
	var routes []dispatch.Route
	for _, d := range svc.settings.Destinations {
		policy := d.Policy()
		client, err := outbound.New(outbound.Config{
			URL: string(d.URL), Headers: d.Headers, SigningSecret: string(d.SigningSecret), Renew: renew,
			Timeout: policy.Timeout, Version: svc.version, Secrets: svc.settings.Secrets(),
			Dial: c.Dial, Concurrency: policy.Concurrency,
		})
		if err != nil {
			return nil, fmt.Errorf("destination %s: %w", d.Name, err)
		}
		routes = append(routes, dispatch.Route{Policy: policy, Sender: client})
	}
	return routes, nil
}

// handlerConfig returns what the HTTP side needs.
func (svc *Service) handlerConfig(ctx context.Context, verifiers map[string]*signature.Verifier) (handler.Config, error) {
	var none handler.Config
	address, err := ratelimit.ClientAddress(ratelimit.Proxies{
		Header: string(svc.settings.ClientIPHeader), Trusted: svc.settings.TrustedProxies, OnUntrustedProxy: svc.warnUntrustedProxy,
	})
	if err != nil {
		return none, fmt.Errorf("client addresses: %w", err)
	}
	sources, allowances := svc.sources(verifiers)
	pages, err := svc.pages(svc.failures)
	if err != nil {
		return none, err
	}
	former, err := svc.removed(ctx)
	if err != nil {
		return none, err
	}
	return handler.Config{
		Sources: sources, Intake: svc.store, Wake: svc.dispatcher.Wake,
		ClientAddress: address,
		Client:        func(ctx context.Context) netip.Addr { return ratelimit.CallerOf(ctx).Addr },
		Failures:      svc.failures,
		Allowance:     ratelimit.NewSources(allowances),
		Room:          func(ctx context.Context) handler.Room { return svc.inflight.For(ctx) },
		Tokens:        handler.NewTokens(svc.settings.APITokens()...),
		Events:        svc.store, Bodies: svc.store, Deliveries: svc.store, Queues: svc.store, History: svc.store,
		Operator: watchedStore{svc.store, svc}, Destinations: watchedDispatcher{svc.dispatcher, svc},
		Downstreams: svc.downstreams(), Former: former, Observe: svc.received, Metrics: svc.page,
		Waiting: dispatch.Waiting,
		Stats:   svc.stats, Refusals: new(handler.Refusals), Ready: svc.ready, Flow: svc.flow, Log: svc.log,
		Dashboard: pages,
	}, nil
}

// sources returns the configured senders and their allowances.
func (svc *Service) sources(verifiers map[string]*signature.Verifier) (map[string]handler.Source, map[string]ratelimit.Source) {
	sources, allowances := map[string]handler.Source{}, map[string]ratelimit.Source{}
	for _, s := range svc.settings.Sources {
		sources[s.Name] = newSource(s, verifiers[s.Name])
		per := ratelimit.PerSource
		if s.Scheme == config.SchemeNone {
			per = ratelimit.PerCaller
		}
		allowances[s.Name] = ratelimit.Source{Rates: s.Rate, Per: per}
	}
	return sources, allowances
}

// newSource joins the settings of a source and its verifier.
func newSource(s config.Source, verifier *signature.Verifier) handler.Source {
	drop := append(verifier.TokenHeaders(), s.DropHeaders...)
	source := handler.Source{
		Scheme: string(s.Scheme), Verifier: verifier, MaxBody: int64(s.MaxBody), Status: int(s.Status),
		To: s.To, OnConflict: webhook.OnConflict(s.OnConflict), AllowFrom: s.AllowFrom,
		Forward: func(in http.Header) http.Header { return outbound.Forwardable(in, drop) },
	}
	if source.OnConflict == "" {
		source.OnConflict = verifier.DefaultOnConflict()
	}
	if s.Scheme == config.SchemeNone {
		source.Trust = handler.Unsigned
	}
	if verifier.AnswersOptions() {
		source.Options = handler.OptionsHandshake
	}
	return source
}

// downstreams lists the destinations for the operator, without credentials.
func (svc *Service) downstreams() []handler.Downstream {
	var list []handler.Downstream
	for _, d := range svc.settings.Destinations {
		shown := d.URL.Parsed()
		shown.User, shown.RawQuery = nil, ""
		list = append(list, handler.Downstream{Name: d.Name, URL: shown.String()})
	}
	return list
}

// warnUntrustedProxy warns that clients cannot be distinguished.
func (svc *Service) warnUntrustedProxy(header string) {
	svc.log.Warn("requests come through a proxy that is not trusted, so clients cannot be distinguished;"+
		" set WEIR_CLIENT_IP_HEADER or WEIR_TRUSTED_PROXIES", webhook.LogHeader, header)
}
