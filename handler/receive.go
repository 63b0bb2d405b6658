package handler

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"weir/signature"
	"weir/webhook"
)

// receiver answers the receive paths.
type receiver struct {
	config Config
	lines  *requestLog
}

// intake is one request on its way through the checks.
type intake struct {
	name    string
	source  Source
	known   bool
	arrived time.Time
	// over is set when the client is over its limit of refused requests and
	// may still verify: the header fields of the 429 for what does not.
	over http.Header
	// refusedFor and refusedResult are why a request was refused that is answered
	// 429, as its client is over the limit.
	refusedFor    string
	refusedResult webhook.Result
	// read is the number of bytes of the body that were kept.
	read int64
}

// outcome is what became of a request, and how it is to be answered.
type outcome struct {
	result webhook.Result
	reason string
	alert  string
	// secret is the position of the one that matched, or noSecret.
	secret  int
	receipt webhook.Receipt
	// header holds further fields of the answer, reply all of it.
	header http.Header
	reply  *signature.Challenge
	body   bodyState
	// cause is for the log.
	cause error
}

// noSecret says that no secret has matched.
const noSecret = -1

// bodyState says how much of the body was read.
type bodyState int

const (
	bodyRead bodyState = iota
	bodyUnread
)

// refuse makes the outcome of a failed check.
func refuse(result webhook.Result, reason string) outcome {
	return outcome{result: result, reason: reason, secret: noSecret}
}

// unread marks an outcome that was decided without the whole body.
func (o outcome) unread() outcome {
	o.body = bodyUnread
	return o
}

// post receives a webhook.
func (h *receiver) post(w http.ResponseWriter, r *http.Request) {
	in := h.intake(r)
	out, refused := h.beforeBody(r, in)
	if !refused {
		out = h.withBody(w, r, in)
	}
	h.finish(w, r, in, out)
}

// handshake answers the other methods. Nothing is stored.
func (h *receiver) handshake(w http.ResponseWriter, r *http.Request) {
	in := h.intake(r)
	out, refused := h.beforeBody(r, in)
	if !refused {
		out = h.answerHandshake(r, in)
	}
	h.finish(w, r, in, out)
}

// options is a handshake for the sources that have one.
func (h *receiver) options(w http.ResponseWriter, r *http.Request) {
	in := h.intake(r)
	if in.known && in.source.Options == OptionsHandshake {
		h.handshake(w, r)
		return
	}
	methodNotAllowed(w, receiveMethods)
}

// receiveMethods are those of a receive path.
const receiveMethods = "GET, HEAD, POST"

func (h *receiver) intake(r *http.Request) *intake {
	in := &intake{arrived: time.Now(), name: chi.URLParam(r, "source")}
	in.source, in.known = h.config.Sources[in.name]
	if !in.known {
		in.name = UnknownSource
	}
	return in
}

// beforeBody makes the checks that need no byte of the body.
func (h *receiver) beforeBody(r *http.Request, in *intake) (outcome, bool) {
	if over := h.config.Failures.Over(r.Context()); over != nil && !h.config.Failures.Known(r.Context()) {
		in.over = over
		if !in.known || !h.config.Failures.MayVerify(r.Context()) {
			return in.throttled().unread(), true
		}
	}
	switch {
	case !in.known:
		return refuse(webhook.ResultUnknownSource, "no such source").unread(), true
	case !allowed(in.source.AllowFrom, h.config.Client(r.Context())):
		return refuse(webhook.ResultBadSignature, "address not in ALLOW_FROM").unread(), true
	case r.ContentLength > in.source.limit():
		return refuse(webhook.ResultTooLarge, "declared length over MAX_BODY").unread(), true
	default:
		return outcome{}, false
	}
}

// throttled is the outcome for a client that is over its limit of refused
// requests.
func (in *intake) throttled() outcome {
	out := refuse(webhook.ResultThrottled, reasonFailures)
	out.header = in.over
	return out
}

// limit returns the largest body.
func (s Source) limit() int64 {
	if s.MaxBody > 0 {
		return s.MaxBody
	}
	return 1 << 20
}

// allowed reports whether a client may send. An unknown address may not when
// there is a list.
func allowed(list []netip.Prefix, client netip.Addr) bool {
	client = client.Unmap().WithZone("")
	for _, network := range list {
		if network.Contains(client) {
			return true
		}
	}
	return len(list) == 0
}

// withBody reads, verifies and stores.
func (h *receiver) withBody(w http.ResponseWriter, r *http.Request, in *intake) outcome {
	body, err := h.readBody(w, r, in.source.limit())
	if err != nil {
		return bodyOutcome(err)
	}
	defer body.release()
	in.read = int64(len(body.bytes))
	asked := request(r, body.bytes)
	asked.Reserve = body.room.Acquire
	verdict := in.source.Verifier.Verify(asked, in.arrived)
	out := outcomeOf(verdict)
	if out.result != webhook.ResultAccepted {
		return out
	}
	if in.source.Trust == Signed {
		h.config.Failures.Verified(r.Context())
	}
	stored := h.store(r, in, h.arrival(r, in, verdict, body.bytes))
	stored.alert, stored.secret = out.alert, out.secret
	return stored
}

// bodyOutcome answers a fault of the body.
func bodyOutcome(err error) outcome {
	result := webhook.ResultMalformed
	switch {
	case errors.Is(err, errTooLarge):
		result = webhook.ResultTooLarge
	case errors.Is(err, errNoRoom):
		result = webhook.ResultUnavailable
	}
	return refuse(result, err.Error()).unread()
}

// request is the verifier's view.
func request(r *http.Request, body []byte) signature.Request {
	return signature.Request{Method: r.Method, Target: r.RequestURI, Header: r.Header, Body: body}
}

// outcomeOf takes over what the verifier found.
func outcomeOf(verdict signature.Verdict) outcome {
	return outcome{
		result: verdict.Result, reason: verdict.Reason, alert: verdict.Alert,
		secret: verdict.Secret, reply: verdict.Challenge,
	}
}

// answerHandshake answers a handshake; a plain look at the path is answered 200.
func (h *receiver) answerHandshake(r *http.Request, in *intake) outcome {
	verdict, meant := in.source.Verifier.Handshake(request(r, nil))
	if !meant {
		// Somebody looks whether the path is there: no webhook, no result.
		return outcome{reply: &signature.Challenge{Status: http.StatusOK}}
	}
	return outcomeOf(verdict)
}

// arrival makes the event.
func (h *receiver) arrival(r *http.Request, in *intake, verdict signature.Verdict, body []byte) webhook.Arrival {
	event := webhook.Event{
		Source: in.name, Key: verdict.Key, KeyFrom: verdict.KeyFrom, Type: verdict.Type,
		ReceivedAt: in.arrived.UTC().Truncate(time.Millisecond),
		Body:       body, Size: int64(len(body)), SHA256: sha256.Sum256(body),
	}
	if in.source.Forward != nil {
		event.Header = in.source.Forward(r.Header)
	}
	return webhook.Arrival{Event: event, To: in.source.To, OnConflict: in.source.OnConflict}
}

// store uses up the allowance and commits.
func (h *receiver) store(r *http.Request, in *intake, arrival webhook.Arrival) outcome {
	settle, fresh, repeat := h.config.Allowance.Take(r.Context(), in.name)
	out := outcome{result: webhook.ResultUnavailable, secret: noSecret}
	defer func() { settle(out.result) }()
	if fresh != nil || repeat != nil {
		if refusal := h.refusalFor(r.Context(), arrival.Event, fresh, repeat); refusal != nil {
			out = refuse(webhook.ResultThrottled, reasonRate)
			out.header = refusal
			return out
		}
	}
	out = h.commit(r.Context(), arrival)
	return out
}

// refusalFor finds out whether an event is new or a repeat, and returns that kind's
// refusal. Only a source that is over a rate pays for this question.
func (h *receiver) refusalFor(ctx context.Context, event webhook.Event, fresh, repeat http.Header) http.Header {
	if event.Key == "" || h.config.Events == nil {
		return fresh
	}
	_, err := h.config.Events.EventByKey(ctx, event.Source, event.Key)
	if err != nil {
		return fresh
	}
	return repeat
}

// commit stores the event. The sender may hang up meanwhile: what it has sent
// is then stored nevertheless, and its repeat is a duplicate.
func (h *receiver) commit(ctx context.Context, arrival webhook.Arrival) outcome {
	id, err := uuid.NewV7()
	if err != nil || h.config.Intake == nil {
		return unavailable(errors.Join(errors.New("intake is not ready"), err))
	}
	arrival.Event.ID = webhook.ID(id)
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), h.config.AcceptTimeout,
		errors.New("storing took too long"))
	defer cancel()
	receipt, err := h.config.Intake.Accept(ctx, arrival)
	if err != nil {
		return unavailable(err)
	}
	h.wake(arrival, receipt)
	return outcome{result: receipt.Result, receipt: receipt}
}

// unavailable is the outcome of a store that did not commit.
func unavailable(err error) outcome {
	reason := "store did not commit"
	if errors.Is(err, webhook.ErrFull) {
		reason = reasonFull
	}
	out := refuse(webhook.ResultUnavailable, reason)
	out.cause = err
	return out
}

// wake hints at what is due now.
func (h *receiver) wake(arrival webhook.Arrival, receipt webhook.Receipt) {
	due := receipt.Reopened
	if receipt.Result == webhook.ResultAccepted {
		due = arrival.To
	}
	if len(due) > 0 {
		h.config.Wake(due...)
	}
}

// finish answers, counts and reports. What fails to verify is answered 429 where
// its client is over the limit: only then was it read at all.
func (h *receiver) finish(w http.ResponseWriter, r *http.Request, in *intake, out outcome) {
	if countsAgainstClient(out.result) {
		h.config.Failures.Refused(r.Context())
		if in.over != nil {
			in.refusedFor, in.refusedResult = out.reason, out.result
			throttled := in.throttled()
			throttled.body = out.body
			out = throttled
		}
	}
	write := func() {
		maps.Copy(w.Header(), out.header)
		answer(w, in.source, out)
		h.report(r, w.Header().Get(requestIDHeader), in, out)
	}
	if out.body == bodyUnread {
		answerUnread(w, r, write)
	} else {
		write()
	}
}

// countsAgainstClient reports whether a result counts against the client's address:
// those answered 400, 401 and 404.
func countsAgainstClient(result webhook.Result) bool {
	switch result {
	case webhook.ResultMalformed, webhook.ResultBadSignature, webhook.ResultStale, webhook.ResultUnknownSource:
		return true
	default:
		return false
	}
}
