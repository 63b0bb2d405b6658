package outbound

import (
	"net/http"
	"strings"

	"weir/webhook"
)

// verdict is an outcome with the name of its rule; the zero verdict is none.
type verdict struct {
	outcome webhook.Outcome
	rule    string
}

// decide applies the rules in their order; the first that matches wins.
func (f *facts) decide() (webhook.Outcome, string) {
	for _, rule := range [...]func(*facts) verdict{
		(*facts).finalStatus, (*facts).tooLarge, (*facts).longQuota, (*facts).limit,
	} {
		if v := rule(f); v.outcome != "" {
			return f.shouldRetry(v)
		}
	}
	return f.shouldRetry(f.byStatus())
}

// finalStatus are the statuses that nothing in the answer overrules.
func (f *facts) finalStatus() verdict {
	switch {
	case f.status >= 200 && f.status < 300:
		return verdict{webhook.OutcomeDelivered, RuleSuccess}
	case f.status >= 100 && f.status < 200:
		return verdict{webhook.OutcomeMisdirected, RuleInformational}
	case f.status >= 300 && f.status < 400:
		return verdict{webhook.OutcomeMisdirected, RuleRedirect}
	case f.status == http.StatusGone:
		return verdict{webhook.OutcomeGone, RuleGone}
	case f.status < 100 || f.status > 599:
		// RFC 9110 section 15: to be treated as a 5xx.
		return verdict{webhook.OutcomeTransient, RuleInvalidStatus}
	}
	return verdict{}
}

// tooLarge finds payloads that can never pass. Figures are stronger than any
// wording, code or Retry-After; a request as large as the limit fits an empty
// window and is not too large.
func (f *facts) tooLarge() verdict {
	w := f.words
	if w.limit != nil && w.requested != nil && *w.requested > *w.limit {
		return verdict{webhook.OutcomeTooLarge, RuleFigures}
	}
	switch f.status {
	case http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge, 494:
		return verdict{webhook.OutcomeTooLarge, RuleSizeStatus}
	case http.StatusRequestEntityTooLarge:
		// RFC 9110 section 15.5.14 declares one with a Retry-After temporary.
		if f.header.Get("Retry-After") != "" {
			return verdict{webhook.OutcomeTransient, RuleSizeTemporary}
		}
		return verdict{webhook.OutcomeTooLarge, RuleSizeStatus}
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
		if f.words.sizes && containsAny(f.text, sizeWords[:]) {
			return verdict{webhook.OutcomeTooLarge, RuleSizeWords}
		}
	}
	return verdict{}
}

// longQuota finds bills and allowances that are named as such, under any
// refusing status.
func (f *facts) longQuota() verdict {
	quota := func(rule string) verdict { return verdict{webhook.OutcomeQuotaExhausted, rule} }
	switch f.status {
	case http.StatusPaymentRequired, http.StatusInsufficientStorage, 509:
		return quota(RuleAllowance)
	}
	if f.words.bills && (containsAny(f.text, billingWords[:]) || containsWord(f.text, quotaException)) {
		return quota(RuleBillingWords)
	}
	if strings.Contains(f.text, "policyname") {
		if policy, _, ok := member(f.text, "policyname"); ok && policy == "daily" {
			f.said = "day"
			return quota(RuleBillingWords)
		}
	}
	if containsWord(f.errorType(), quotaException) {
		return quota(RuleBillingWords)
	}
	if strings.Contains(strings.ToLower(f.header.Get("Ratelimit-Reason")), "quota") {
		return quota(RuleBillingReason)
	}
	return verdict{}
}

// errorType is the name that AWS gives an error outside of its body.
func (f *facts) errorType() string { return strings.ToLower(f.header.Get("X-Amzn-Errortype")) }

// limit tells short limits from long ones, once it is clear that it is one.
func (f *facts) limit() verdict {
	if !f.limited() {
		return verdict{}
	}
	if rule := f.longWindow(); rule != "" {
		return verdict{webhook.OutcomeQuotaExhausted, rule}
	}
	if hint := f.hint(anyBucket); hint.Wait >= webhook.LongLived {
		return verdict{webhook.OutcomeQuotaExhausted, RuleLongWait}
	}
	return verdict{webhook.OutcomeRateLimited, RuleLimited}
}

// limited reports whether the answer speaks of a limit at all.
func (f *facts) limited() bool {
	switch f.status {
	case http.StatusTooManyRequests, 420:
		return true
	case http.StatusBadRequest:
		return f.limitWording()
	case http.StatusForbidden:
		return f.header.Get("Retry-After") != "" || f.anyEmpty() || f.limitWording()
	}
	return false
}

func (f *facts) limitWording() bool {
	return f.words.limits && containsAny(f.text, limitWords[:]) || containsAny(f.errorType(), limitWords[:])
}

func (f *facts) anyEmpty() bool {
	for _, b := range f.buckets {
		if b.empty() {
			return true
		}
	}
	return false
}

// longWindow names the rule by which a limit is counted over a long window;
// empty when none says so. What Google's QuotaFailure or the first named
// window say stands: advice about other windows often follows the reason.
func (f *facts) longWindow() string {
	if strings.Contains(f.text, "quotaid") || strings.Contains(f.text, "quotafailure") {
		for rest := f.text; ; {
			id, after, ok := member(rest, "quotaid")
			if !ok {
				return ""
			}
			if strings.Contains(id, "perday") {
				f.said = "day"
				return RuleQuotaID
			}
			rest = after
		}
	}
	if f.words.window != "" {
		if f.words.window.long() {
			return RuleLongWords
		}
		return ""
	}
	if strings.Contains(strings.ToLower(f.header.Get("X-Rate-Limit-Problem")), "day") {
		f.said = "day"
		return RuleLongHeader
	}
	for _, b := range f.buckets {
		if b.empty() && b.long() {
			return RuleLongHeader
		}
	}
	return ""
}

// byStatus decides what is left by the status alone.
func (f *facts) byStatus() verdict {
	switch f.status {
	case 401, 403, 407, 511:
		return verdict{webhook.OutcomeAuth, RuleAuth}
	case 404, 405, 421, 426, 501, 505, 508:
		return verdict{webhook.OutcomeMisdirected, RuleMisdirected}
	case 408, 409, 423, 424, 425:
		return verdict{webhook.OutcomeTransient, RuleTransient}
	}
	if f.status >= 500 {
		return verdict{webhook.OutcomeTransient, RuleTransient}
	}
	return verdict{webhook.OutcomeRejected, RuleRejected}
}

// shouldRetry lets the server's explicit word (Stripe's, OpenAI's) decide
// between trying again and giving up, and nothing else.
func (f *facts) shouldRetry(v verdict) (webhook.Outcome, string) {
	word := f.header.Get("Stripe-Should-Retry")
	if word == "" {
		word = f.header.Get("X-Should-Retry")
	}
	limitOrFailure := v.outcome == webhook.OutcomeTransient || v.outcome == webhook.OutcomeRateLimited
	switch {
	case limitOrFailure && strings.EqualFold(strings.TrimSpace(word), "false"):
		return webhook.OutcomeRejected, RuleShouldNotRetry
	case v.outcome == webhook.OutcomeRejected && strings.EqualFold(strings.TrimSpace(word), "true"):
		return webhook.OutcomeTransient, RuleShouldRetry
	}
	return v.outcome, v.rule
}
