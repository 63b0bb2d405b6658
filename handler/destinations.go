package handler

import (
	"cmp"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/webhook"
)

// destinationView is a destination as clients see it.
type destinationView struct {
	Name string  `json:"name"`
	URL  *string `json:"url"`
	// State is ready, held (by a hold or the breaker) or paused.
	State      string              `json:"state"`
	WaitingFor *webhook.WaitingFor `json:"waiting_for"`
	Until      stamp               `json:"until"`
	// Hold is the most important of Holds.
	Hold          *holdView    `json:"hold"`
	Holds         []holdView   `json:"holds"`
	Breaker       breakerView  `json:"breaker"`
	RetryBudget   *windowView  `json:"retry_budget"`
	Rate          []windowView `json:"rate"`
	Concurrency   slotsView    `json:"concurrency"`
	Pace          paceView     `json:"pace"`
	Queue         queueView    `json:"queue"`
	OldestDueAt   stamp        `json:"oldest_due_at"`
	LastSentAt    stamp        `json:"last_sent_at"`
	LastSuccessAt stamp        `json:"last_success_at"`
	Sizes         sizesView    `json:"sizes"`
	Fallback      *string      `json:"fallback"`
}

type holdView struct {
	Reason        webhook.HoldReason `json:"reason"`
	Presumed      bool               `json:"presumed"`
	Basis         string             `json:"basis"`
	Since         stamp              `json:"since"`
	Until         stamp              `json:"until"`
	From          *string            `json:"from"`
	Probes        int                `json:"probes"`
	NeedsOperator bool               `json:"needs_operator"`
	Status        *int               `json:"status"`
	Rule          *string            `json:"rule"`
	Evidence      webhook.Evidence   `json:"evidence"`
}

type breakerView struct {
	State         string            `json:"state"`
	Since         stamp             `json:"since"`
	Until         stamp             `json:"until"`
	Trials        int               `json:"trials"`
	FailuresInRow int               `json:"failures_in_row"`
	Rule          *string           `json:"rule"`
	Evidence      *webhook.Evidence `json:"evidence"`
}

// windowView is a cap on requests in a sliding window.
type windowView struct {
	Limit    int   `json:"limit"`
	WindowMS int64 `json:"window_ms"`
	Left     int   `json:"left"`
}

type slotsView struct {
	Limit    int `json:"limit"`
	Now      int `json:"now"`
	InFlight int `json:"in_flight"`
}

type paceView struct {
	NotBefore    stamp `json:"not_before"`
	SpacingMS    int64 `json:"spacing_ms"`
	SpacingUntil stamp `json:"spacing_until"`
	RampFrom     stamp `json:"ramp_from"`
}

type queueView struct {
	Pending    int                        `json:"pending"`
	Dead       int                        `json:"dead"`
	WaitingFor map[webhook.WaitingFor]int `json:"waiting_for"`
}

type sizesView struct {
	LargestAccepted *int64 `json:"largest_accepted"`
	SmallestRefused *int64 `json:"smallest_refused"`
}

// listDestinations is GET /v1/destinations.
func (h *api) listDestinations(r *http.Request) (result, error) {
	if err := queryFields(r.URL.RawQuery).err; err != nil {
		return result{}, err
	}
	items := make([]destinationView, 0, len(h.config.Downstreams))
	for _, downstream := range h.config.Downstreams {
		view, err := h.viewDestination(r, downstream)
		if err != nil {
			return result{}, err
		}
		items = append(items, view)
	}
	return ok(page{Items: items})
}

// destination is GET /v1/destinations/{name}.
func (h *api) destination(r *http.Request) (result, error) {
	downstream, err := h.downstream(r)
	if err != nil {
		return result{}, err
	}
	view, err := h.viewDestination(r, downstream)
	if err != nil {
		return result{}, err
	}
	return ok(view)
}

// pause is POST /v1/destinations/{name}/pause.
func (h *api) pause(r *http.Request) (result, error) {
	downstream, err := h.downstream(r)
	if err != nil {
		return result{}, err
	}
	if err := h.config.Destinations.Pause(r.Context(), downstream.Name); err != nil {
		return result{}, err
	}
	return h.destination(r)
}

// resume is POST /v1/destinations/{name}/resume.
func (h *api) resume(r *http.Request) (result, error) {
	downstream, err := h.downstream(r)
	if err != nil {
		return result{}, err
	}
	if err := h.config.Destinations.Resume(r.Context(), downstream.Name); err != nil {
		return result{}, err
	}
	h.config.Wake(downstream.Name)
	return h.destination(r)
}

// downstream finds the destination that the path names.
func (h *api) downstream(r *http.Request) (Downstream, error) {
	if h.config.Destinations == nil {
		return Downstream{}, missing("destinations")
	}
	name := chi.URLParam(r, "name")
	for _, downstream := range h.config.Downstreams {
		if downstream.Name == name {
			return downstream, nil
		}
	}
	return Downstream{}, webhook.ErrNotFound
}

// viewDestination asks for all that is known of a destination.
func (h *api) viewDestination(r *http.Request, downstream Downstream) (destinationView, error) {
	if h.config.Destinations == nil {
		return destinationView{}, missing("destinations")
	}
	now := time.Now()
	status, err := h.config.Destinations.Status(downstream.Name, now)
	if err != nil {
		return destinationView{}, err
	}
	var queue webhook.Queue
	if h.config.Queues != nil {
		queue, err = h.config.Queues.Queue(r.Context(), downstream.Name, now)
		if err != nil {
			return destinationView{}, err
		}
	}
	view := viewStatus(status)
	view.Name, view.URL = downstream.Name, orNull(downstream.URL)
	view.Queue = queueView{Pending: queue.Pending, Dead: queue.Dead, WaitingFor: queue.ByWait(status)}
	view.OldestDueAt = stamp(queue.OldestDue)
	return view, nil
}

// viewStatus makes the view of a destination's gates.
func viewStatus(status webhook.Status) destinationView {
	gates, policy := status.Destination, status.Policy
	view := destinationView{
		State:         stateOf(status),
		Holds:         make([]holdView, 0, len(gates.Holds)),
		Breaker:       viewBreaker(gates.Breaker),
		Rate:          viewRates(policy.Rate, status.RateLeft),
		Concurrency:   slotsView{Limit: policy.Concurrency, Now: policy.Slots(gates), InFlight: len(status.InFlight)},
		Pace:          paceView{stamp(gates.Pace.NotBefore), gates.Pace.Spacing.Milliseconds(), stamp(gates.Pace.SpacingUntil), stamp(gates.RampFrom)},
		LastSentAt:    stamp(gates.LastSentAt),
		LastSuccessAt: stamp(gates.LastSuccess),
		Sizes:         sizesView{orNull(gates.Sizes.LargestAccepted), orNull(gates.Sizes.SmallestRefused)},
		Fallback:      orNull(policy.Fallback),
	}
	for _, hold := range gates.Holds {
		view.Holds = append(view.Holds, viewHold(hold))
	}
	if len(view.Holds) > 0 {
		view.Hold = &view.Holds[0]
	}
	if status.Gate.WaitingFor != webhook.WaitDue {
		view.WaitingFor, view.Until = orNull(status.Gate.WaitingFor), stamp(status.Gate.Until)
	}
	if policy.RetryBudget.N > 0 {
		budget := viewWindow(policy.RetryBudget, status.RetriesLeft)
		view.RetryBudget = &budget
	}
	return view
}

// stateOf says in one word whether a destination takes requests.
func stateOf(status webhook.Status) string {
	gates := status.Destination
	if _, paused := gates.Hold(webhook.HoldPaused); paused {
		return "paused"
	}
	if len(gates.Holds) > 0 || gates.Breaker.Open() {
		return "held"
	}
	return "ready"
}

func viewHold(hold webhook.Hold) holdView {
	return holdView{
		Reason: hold.Reason, Presumed: hold.Basis == webhook.BasisPresumed,
		Basis: cmp.Or(string(hold.Basis), "sure"), Since: stamp(hold.Since), Until: stamp(hold.Until),
		From: orNull(hold.From), Probes: hold.Probes, NeedsOperator: hold.NeedsOperator,
		Status: orNull(hold.Status), Rule: orNull(hold.Rule), Evidence: withHeaders(hold.Evidence),
	}
}

func viewBreaker(breaker webhook.Breaker) breakerView {
	view := breakerView{State: "closed", FailuresInRow: breaker.InARow, Rule: orNull(breaker.Rule)}
	if breaker.Open() {
		view.State, view.Since, view.Until = "open", stamp(breaker.OpenSince), stamp(breaker.Until)
		view.Trials = breaker.Trials
	}
	if breaker.Rule != "" {
		evidence := withHeaders(breaker.Evidence)
		view.Evidence = &evidence
	}
	return view
}

func viewRates(rates []webhook.Rate, left []int) []windowView {
	views := make([]windowView, 0, len(rates))
	for i, rate := range rates {
		free := rate.N
		if i < len(left) {
			free = left[i]
		}
		views = append(views, viewWindow(rate, free))
	}
	return views
}

func viewWindow(rate webhook.Rate, left int) windowView {
	return windowView{Limit: rate.N, WindowMS: rate.Per.Milliseconds(), Left: left}
}

// withHeaders makes sure that evidence without headers shows {}.
func withHeaders(evidence webhook.Evidence) webhook.Evidence {
	if evidence.Headers == nil {
		evidence.Headers = map[string]string{}
	}
	return evidence
}
