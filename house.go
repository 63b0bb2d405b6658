package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"weir/dispatch"
	"weir/handler"
	"weir/outbound"
	"weir/ratelimit"
	"weir/signature"
	"weir/store/sqlite"
	"weir/webhook"
)

// maxBodiesOut bounds the bytes of all bodies on their way out at once.
const maxBodiesOut = 40 << 20

// house is the service with all its rooms.
type house struct {
	settings   settings
	version    string
	log        *slog.Logger
	store      *sqlite.Store
	departures *departureFile
	dispatcher *dispatch.Dispatcher
	stats      *handler.Stats
	server     *http.Server
	listener   net.Listener
	// meters count, page shows them, and desk decides what a person is told.
	meters   *meters
	page     *metricsPage
	desk     *alertDesk
	inflight *ratelimit.Inflight
	// gatesChanged has room for one hint to look at the holds.
	gatesChanged chan struct{}
	// full has room for one hint that room is short.
	full chan struct{}
	// beside is what runs until everything else has ended.
	beside beside
	// parts are the goroutines of run.
	parts sync.WaitGroup
	// draining is set when a stop has begun; lastRequest is when one last
	// came in, in Unix milliseconds.
	draining    atomic.Bool
	lastRequest atomic.Int64
	// cut counts the attempts that a stop has ended.
	cut atomic.Int64
}

// serviceConfig is what a service needs.
type serviceConfig struct {
	settings settings
	// version and commit are those of the program; commit may be empty.
	version string
	commit  string
	// log gets the lines of the log: text where it is a terminal, else JSON.
	log io.Writer
	// listen opens the listeners of WEIR_ADDR and WEIR_METRICS_ADDR, dial the
	// connections to destinations and to WEIR_ALERT_URL.
	listen func(ctx context.Context, network, address string) (net.Listener, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// heap sets the size of the heap, in bytes, from which on garbage is
	// collected at once; nil leaves it.
	heap func(bytes int64) int64
}

// openService opens the store, takes the destinations over, puts the parts
// together and listens. Nothing is received or sent before Run. Whoever opens a
// service closes it.
func openService(ctx context.Context, c serviceConfig) (*house, error) {
	if c.heap != nil {
		c.heap(heapOf(c.settings))
	}
	h, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := h.listenAll(ctx, c); err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	return h, nil
}

// addr is the address that the service listens on.
func (h *house) addr() net.Addr { return h.listener.Addr() }

// open does all of openService but to listen.
func open(ctx context.Context, c serviceConfig) (*house, error) {
	h := newHouse(c)
	s := c.settings
	for _, warning := range s.warnings {
		h.log.Warn(warning)
	}
	var err error
	h.store, err = sqlite.Open(ctx, sqlite.Config{
		Path: s.database, DedupeWindow: s.dedupeWindow, MaxBytes: databaseCap(s), Observe: h.committed,
	})
	if err != nil {
		return nil, err
	}
	if h.departures, err = openDepartures(h.store.Path()); err == nil {
		err = h.furnish(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	return h, nil
}

// newHouse returns a house with nothing in it but what counts and watches.
func newHouse(c serviceConfig) *house {
	now, s := time.Now(), c.settings
	h := &house{
		settings: s, version: c.version, log: newLogger(c.log, s), stats: handler.NewStats(), meters: newMeters(metersOf(c, now)),
		inflight: ratelimit.NewInflight(s.maxInflight), gatesChanged: make(chan struct{}, 1),
		full: make(chan struct{}, 1),
	}
	h.page = &metricsPage{refresh: h.readGauges, meters: h.meters}
	h.desk = newAlertDesk(h.alertConfig(c, now))
	h.lastRequest.Store(now.UnixMilli())
	return h
}

// metersOf says which series there are.
func metersOf(from serviceConfig, now time.Time) metersConfig {
	s := from.settings
	c := metersConfig{
		sources: map[string]int{}, version: from.version, commit: from.commit, started: now,
	}
	for _, source := range s.sources {
		c.sources[source.name] = len(source.secretList)
	}
	for _, destination := range s.destinations {
		c.destinations = append(c.destinations, destination.policy.Name)
	}
	for _, result := range alertResults() {
		c.alertResults = append(c.alertResults, string(result))
	}
	return c
}

// alertConfig says how messages for a person are sent.
func (h *house) alertConfig(from serviceConfig, now time.Time) alertConfig {
	c := alertConfig{
		secrets: outbound.NewSecrets(h.settings.secrets()...), version: from.version, dial: from.dial,
		log: h.log, count: func(result alertResult) { h.meters.alerted(string(result)) }, started: now,
	}
	if h.settings.alertURL != nil {
		c.url = h.settings.alertURL.String()
	}
	return c
}

// close closes the store, so that the next start finds a clean stop, and then
// the notes of what is out: what they still hold tells that start what it lacks.
func (h *house) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var errs []error
	if err := h.store.Close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("close the store: %w", err))
	}
	if h.departures != nil {
		errs = append(errs, h.departures.close())
	}
	return errors.Join(errs...)
}

// furnish makes dispatch and the HTTP side over the open store.
func (h *house) furnish(ctx context.Context, c serviceConfig) error {
	routes, err := h.routes(c)
	if err != nil {
		return err
	}
	start := dispatch.AfterCrash
	if h.store.CleanStart() {
		start = dispatch.AfterStop
	}
	h.dispatcher, err = dispatch.New(ctx, dispatch.Config{
		Queue: watchedStore{h.store, h}, Ledger: h.store, Departures: h.departures, Routes: routes, Start: start,
		MaxBytes: maxBodiesOut, Chance: rand.Float64, Log: h.log, Observe: h.sent,
	})
	if err != nil {
		return err
	}
	h.desk.stood(h.needyHolds(time.Now()))
	if err := h.rememberAccepted(ctx); err != nil {
		return err
	}
	inside, err := h.handler(ctx)
	if err != nil {
		return err
	}
	h.server = handler.NewServer(h.countRequests(inside), h.log)
	return nil
}

// routes returns the destinations with their clients.
func (h *house) routes(c serviceConfig) ([]dispatch.Route, error) {
	var routes []dispatch.Route
	for _, d := range h.settings.destinations {
		client, err := outbound.New(outbound.Config{
			URL: d.url.String(), Headers: d.headers, SigningSecret: d.signingSecret,
			Timeout: d.policy.Timeout, Version: h.version, Secrets: h.settings.secrets(),
			Dial: c.dial, Concurrency: d.policy.Concurrency,
		})
		if err != nil {
			return nil, fmt.Errorf("destination %s: %w", d.policy.Name, err)
		}
		routes = append(routes, dispatch.Route{Policy: d.policy, Sender: client})
	}
	return routes, nil
}

// handler returns the HTTP side.
func (h *house) handler(ctx context.Context) (http.Handler, error) {
	address, err := ratelimit.ClientAddress(ratelimit.Proxies{
		Header: h.settings.clientIPHeader, Trusted: h.settings.trustedProxies, Untold: h.untoldProxy,
	})
	if err != nil {
		return nil, fmt.Errorf("client addresses: %w", err)
	}
	sources, allowances, err := h.sources()
	if err != nil {
		return nil, err
	}
	strangers := ratelimit.NewStrangers(h.settings.refusedRate)
	pages, err := h.pages(strangers)
	if err != nil {
		return nil, err
	}
	former, err := h.former(ctx)
	if err != nil {
		return nil, err
	}
	return handler.New(handler.Config{
		Sources: sources, Intake: h.store, Wake: h.dispatcher.Wake,
		ClientAddress: address,
		Client:        func(ctx context.Context) netip.Addr { return ratelimit.CallerOf(ctx).Addr },
		Strangers:     strangers,
		Allowance:     ratelimit.NewSources(allowances),
		Inflight:      h.inflight,
		Tokens:        handler.NewTokens(h.settings.apiTokens...),
		Events:        h.store, Bodies: h.store, Deliveries: h.store, Queues: h.store, History: h.store,
		Operator: watchedStore{h.store, h}, Destinations: watchedDispatcher{h.dispatcher, h},
		Downstreams: h.downstreams(), Former: former, Observe: h.received, Metrics: h.page,
		Waiting: dispatch.Waiting,
		Stats:   h.stats, Ready: h.ready, Flow: h.flow, Log: h.log,
		Dashboard: pages,
	}), nil
}

// sources returns the configured senders and their allowances.
func (h *house) sources() (map[string]handler.Source, map[string]ratelimit.Source, error) {
	sources, allowances := map[string]handler.Source{}, map[string]ratelimit.Source{}
	for _, s := range h.settings.sources {
		verifier, err := signature.New(s.signatureConfig(h.settings.publicURL))
		if err != nil {
			return nil, nil, fmt.Errorf("source %s: %w", s.name, err)
		}
		sources[s.name] = newSource(s, verifier)
		per := ratelimit.PerSource
		if s.scheme == schemeNone {
			per = ratelimit.PerCaller
		}
		allowances[s.name] = ratelimit.Source{Rates: s.rate, Per: per}
	}
	return sources, allowances, nil
}

// newSource joins the settings of a source and its verifier.
func newSource(s sourceSettings, verifier *signature.Verifier) handler.Source {
	drop := append(verifier.TokenHeaders(), s.dropHeaders...)
	source := handler.Source{
		Scheme: s.scheme, Verifier: verifier, MaxBody: s.maxBody, Status: s.status,
		To: s.to, OnConflict: s.onConflict, AllowFrom: s.allowFrom,
		Forward: func(in http.Header) http.Header { return outbound.Forwardable(in, drop) },
	}
	if source.OnConflict == "" {
		source.OnConflict = verifier.DefaultOnConflict()
	}
	if s.scheme == schemeNone {
		source.Trust = handler.Unsigned
	}
	if verifier.AnswersOptions() {
		source.Options = handler.OptionsHandshake
	}
	return source
}

// downstreams lists the destinations for the operator, without credentials.
func (h *house) downstreams() []handler.Downstream {
	var list []handler.Downstream
	for _, d := range h.settings.destinations {
		shown := *d.url
		shown.User, shown.RawQuery = nil, ""
		list = append(list, handler.Downstream{Name: d.policy.Name, URL: shown.String()})
	}
	return list
}

// untoldProxy warns that clients cannot be told apart.
func (h *house) untoldProxy(header string) {
	h.log.Warn("requests come through a proxy that is not trusted, so clients cannot be told apart;"+
		" set WEIR_CLIENT_IP_HEADER or WEIR_TRUSTED_PROXIES", webhook.LogHeader, header)
}
