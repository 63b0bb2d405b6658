package outbound

import (
	"net/http"
	"strings"
	"time"

	"weir/webhook"
)

// Response is what came back for one request, before it is read.
type Response struct {
	// Err says why no answer came; the other members are empty then.
	Err error
	// raced says that a kept connection was closed as the request went out.
	raced bool
	// unsent says that nothing of the request has left.
	unsent bool
	// Status is the HTTP status as it was sent, also where it is invalid.
	Status int
	Header http.Header
	// Body is the start of the body as it came over the wire, still encoded.
	Body []byte
	// Cut says why the body is not whole; empty when it is.
	Cut string
	// Sent is the payload of the request: its words, echoed in a refusal,
	// decide nothing and are no part of the fingerprint.
	Sent []byte
	// Secrets are redacted from everything that is kept.
	Secrets Secrets
}

// Read decides what an answer means, how long it asks to wait, and what of it
// is kept. It does no I/O and takes no clock: now is when the answer was
// complete, and becomes [webhook.Answer.At].
//
// The order of decision: no answer, the status where it decides alone, figures
// that show a payload over a limit, other signs of size, bills and long
// quotas, limits, the rest by status; last the server's own word on retries.
func Read(r Response, now time.Time) webhook.Answer {
	now = webhook.Ceil(now)
	if r.Err != nil {
		answer := readFault(r)
		answer.At = now
		return answer
	}
	body := decodeBody(r)
	answer := webhook.Answer{Status: r.Status, At: now}
	facts := newFacts(r, body, Base(r.Header, now))
	v := facts.decide()
	answer.Outcome, answer.Rule, answer.Presumed = v.outcome, v.rule, v.presumed
	answer.Aged = v.rule == RuleSignatureAge
	answer.NamesPayload = facts.refusesPayload(v)
	answer.Fingerprint = r.fingerprint(v.outcome, facts.text)
	answer.Hint = facts.hintFor(answer)
	// The name of a header is the downstream's word as well.
	answer.Hint.From = r.Secrets.Redact(strings.ToValidUTF8(answer.Hint.From, ""), maxNameKept)
	answer.OwnWait = facts.ownWait(answer)
	answer.Pacing = facts.pacingFor(answer)
	answer.Evidence = r.evidence(body, facts)
	return answer
}

// facts are what the rules look at.
type facts struct {
	status int
	header http.Header
	// text is the normalised body, read for answers of 400 and more only.
	text  string
	words words
	// namesField says that the body names a field of the payload, as
	// validators do.
	namesField  bool
	sent        payload
	rateWindows []rateWindow
	// explicit is the longest wait that the answer asks for in so many
	// words: by header, JSON member or phrase.
	explicit webhook.Hint
	// said is the window that decided, where no words of the body did.
	said window
}

// newFacts gathers what the rules look at.
func newFacts(r Response, body body, base time.Time) *facts {
	f := &facts{status: r.Status, header: r.Header}
	f.rateWindows = readRateWindows(r.Header, base)
	if r.Status >= 200 && r.Status < 400 {
		return f
	}
	f.text = normalise(body.text, body.ending)
	f.sent = payload{raw: r.Sent}
	if r.Status >= 400 && r.Status < 500 && r.Status != http.StatusTooManyRequests {
		f.namesField = namesField(f.text)
		f.words = readWords(withoutEchoes(f.text), &f.sent, base)
		f.namesField = f.namesField || f.says(fieldKind)
	} else {
		f.words = readWords(f.text, &f.sent, base)
	}
	f.words.asked = longer(f.words.asked, waitsInXML(body.text, base))
	f.words.asked = longer(f.words.asked, waitsInFields(r.Header, base))
	f.explicit = explicitWait(r.Header, base, f.words.asked)
	return f
}

// hint is what a limited answer asks for: in so many words, else by its
// resets.
func (f *facts) hint(considered func(rateWindow) bool) webhook.Hint {
	if f.explicit.Given() {
		return f.explicit
	}
	return resetWait(f.rateWindows, f.words.resets, considered)
}

// hintFor returns the hint of an answer whose outcome has a timed retry.
func (f *facts) hintFor(answer webhook.Answer) webhook.Hint {
	switch answer.Outcome {
	case webhook.OutcomeRateLimited:
		return f.hint(anyRateWindow)
	case webhook.OutcomeQuotaExhausted:
		switch answer.Rule {
		case RuleBillingWords, RuleAllowance:
			return f.hint(notRoomy)
		}
		return f.hint(anyRateWindow)
	case webhook.OutcomeTransient:
		return f.hint(notRoomy)
	}
	return webhook.Hint{}
}

// secondaryWait is what GitHub documents for its secondary limits, whose
// answers may name no time: at least a minute.
const secondaryWait = time.Minute

// ownWait returns the least wait that a downstream documents and its answer
// leaves out.
func (f *facts) ownWait(answer webhook.Answer) time.Duration {
	limited := answer.Outcome == webhook.OutcomeRateLimited && !answer.Hint.Given()
	if limited && strings.Contains(f.text, "secondary rate limit") {
		return secondaryWait
	}
	return 0
}

// pacingFor returns the pace that the answer asks for. Where the destination
// is to be held anyway, or an explicit wait has precedence over resets, there
// is nothing to pace.
func (f *facts) pacingFor(answer webhook.Answer) webhook.Pacing {
	if f.explicit.Given() || answer.Hint.Given() {
		return webhook.Pacing{}
	}
	switch answer.Outcome {
	case webhook.OutcomeRateLimited, webhook.OutcomeQuotaExhausted:
		return webhook.Pacing{}
	}
	return readPacing(f.header, f.rateWindows)
}
