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
	// presumed says that only the status suggests it.
	presumed bool
}

// sure is a verdict that words or fields of the answer confirm.
func sure(outcome webhook.Outcome, rule string) verdict { return verdict{outcome, rule, false} }

// decide applies the rules in their order; the first that matches wins.
func (f *facts) decide() verdict {
	for _, rule := range [...]func(*facts) verdict{
		(*facts).finalStatus, (*facts).aged, (*facts).tooLarge, (*facts).oneObject,
		(*facts).longQuota, (*facts).limit, (*facts).elsewhere,
	} {
		if v := rule(f); v.outcome != "" {
			return f.shouldRetry(v)
		}
	}
	return f.shouldRetry(f.byStatus())
}

// says reports that words of one of these kinds are in the body.
func (f *facts) says(kinds kind) bool { return f.words.kinds&kinds != 0 }

// finalStatus are the statuses that nothing in the answer overrules.
func (f *facts) finalStatus() verdict {
	switch {
	case f.status >= 200 && f.status < 300:
		return sure(webhook.OutcomeDelivered, RuleSuccess)
	case f.status >= 100 && f.status < 200:
		return verdict{webhook.OutcomeMisdirected, RuleInformational, true}
	case f.status >= 300 && f.status < 400:
		// A redirect that says where to is a word of the server's.
		return verdict{webhook.OutcomeMisdirected, RuleRedirect, f.header.Get("Location") == ""}
	case f.status == http.StatusGone:
		return verdict{webhook.OutcomeGone, RuleGone, !f.says(goneKind)}
	case f.status < 100 || f.status > 599:
		// RFC 9110 section 15: to be treated as a 5xx.
		return sure(webhook.OutcomeTransient, RuleInvalidStatus)
	}
	return verdict{}
}

// tooLarge finds payloads that can never pass. Figures are stronger than any
// wording, code or Retry-After; a request as large as the limit fits an empty
// window and is not too large.
func (f *facts) tooLarge() verdict {
	w := f.words
	if w.limit != nil && w.requested != nil && *w.requested > *w.limit {
		return sure(webhook.OutcomeTooLarge, RuleFigures)
	}
	switch f.status {
	case http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge, 494:
		return sure(webhook.OutcomeTooLarge, RuleSizeStatus)
	case http.StatusRequestEntityTooLarge:
		// RFC 9110 section 15.5.14 declares one with a Retry-After temporary.
		if f.header.Get("Retry-After") != "" {
			return sure(webhook.OutcomeTransient, RuleSizeTemporary)
		}
		return sure(webhook.OutcomeTooLarge, RuleSizeStatus)
	}
	if f.says(sizeKind) && f.sizeTold() {
		return sure(webhook.OutcomeTooLarge, RuleSizeWords)
	}
	return verdict{}
}

// sizeTold reports whether words about size decide under this status: a 404 is
// IIS's (404.13), a 500 is what frameworks make of the exception.
func (f *facts) sizeTold() bool {
	switch f.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
		http.StatusNotFound, http.StatusInternalServerError:
		return true
	}
	return false
}

// aged finds refusals of a signature that is too old: the application works,
// and so do its credentials. What a payload says of its own times is none.
func (f *facts) aged() verdict {
	if f.status < 400 || f.status >= 500 || !f.says(ageKind) || f.namesField {
		return verdict{}
	}
	switch f.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return verdict{}
	}
	return sure(webhook.OutcomeRejected, RuleSignatureAge)
}

// oneObject finds refusals that are about one recipient, chat or card that the
// payload names, whatever the status says of the destination.
func (f *facts) oneObject() verdict {
	if !f.says(objectKind) {
		return verdict{}
	}
	switch f.status {
	case http.StatusBadRequest, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusNotAcceptable, http.StatusConflict, http.StatusUnprocessableEntity:
		return sure(webhook.OutcomeRejected, RuleOneObject)
	}
	return verdict{}
}

// elsewhere finds what is told under another status than its own: a wrong
// address, a host that is away, an account that is refused.
func (f *facts) elsewhere() verdict {
	if f.status < 400 || f.status >= 500 {
		return verdict{}
	}
	switch {
	case f.says(addressKind|refusalKind) && f.addressTold(), strings.Contains(f.errorType(), "missingauthenticationtoken"):
		return sure(webhook.OutcomeMisdirected, RuleAddressWords)
	case f.says(awayKind) && (f.status == http.StatusNotFound || f.status == http.StatusForbidden), f.awayByHeader():
		return sure(webhook.OutcomeTransient, RuleAway)
	case f.says(accountKind) && (f.status == http.StatusBadRequest || f.status == http.StatusForbidden) && !f.namesField:
		return sure(webhook.OutcomeAuth, RuleCredentialWords)
	}
	return verdict{}
}

// addressTold reports whether words about the address decide here.
func (f *facts) addressTold() bool {
	switch f.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return f.says(addressKind) && !f.namesField
	case http.StatusForbidden, http.StatusNotFound, 419, http.StatusMisdirectedRequest, http.StatusUpgradeRequired:
		return true
	}
	return false
}

// awayByHeader knows the fields by which hosts say that nothing runs behind
// the address just now.
func (f *facts) awayByHeader() bool {
	return strings.HasPrefix(f.header.Get("Ngrok-Error-Code"), "ERR_NGROK_3") ||
		f.header.Get("X-Render-Routing") == "no-server" || f.header.Get("X-Railway-Fallback") == "true"
}

// longQuota finds bills and allowances that are named as such, under any
// refusing status.
func (f *facts) longQuota() verdict {
	quota := func(rule string) verdict { return sure(webhook.OutcomeQuotaExhausted, rule) }
	switch f.status {
	case http.StatusPaymentRequired, http.StatusInsufficientStorage, 509:
		confirmed := f.says(billKind|moneyKind|allowanceKind|limitKind) || f.words.window.long()
		return verdict{webhook.OutcomeQuotaExhausted, RuleAllowance, !confirmed}
	}
	if f.says(billKind) {
		return quota(RuleBillingWords)
	}
	if strings.Contains(f.text, "policyname") {
		if policy, _, ok := member(f.text, "policyname"); ok && policy == "daily" {
			f.said = "day"
			return quota(RuleBillingWords)
		}
	}
	if containsWord(f.errorType(), "limitexceededexception") {
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
		return sure(webhook.OutcomeQuotaExhausted, rule)
	}
	hint := f.hint(anyRateWindow)
	switch {
	case hint.Wait >= webhook.LongLived:
		return sure(webhook.OutcomeQuotaExhausted, RuleLongWait)
	case f.usedUp() && f.words.window == "" && !hint.Given():
		return sure(webhook.OutcomeQuotaExhausted, RuleUsedUp)
	case f.status == http.StatusServiceUnavailable:
		return verdict{} // its own wait is a short one
	}
	return sure(webhook.OutcomeRateLimited, RuleLimited)
}

// usedUp reports that an allowance is said to be used up. Under 429 the word
// quota says nothing about its window: Gemini opens each of its limits so.
func (f *facts) usedUp() bool {
	if f.status == http.StatusTooManyRequests {
		return f.says(spentKind | moneyKind)
	}
	return f.says(allowanceKind | moneyKind)
}

// limited reports whether the answer speaks of a limit at all.
func (f *facts) limited() bool {
	switch f.status {
	case http.StatusTooManyRequests, 420:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		// What names a field is about the payload, whatever else it says.
		return !f.namesField && (f.says(allowanceKind) || f.status == http.StatusBadRequest && f.limitWording())
	case http.StatusForbidden:
		return f.header.Get("Retry-After") != "" || f.anyEmpty() || f.limitWording() || f.says(allowanceKind|moneyKind)
	case http.StatusUnauthorized, 456, http.StatusServiceUnavailable:
		return f.says(allowanceKind)
	}
	return false
}

func (f *facts) limitWording() bool {
	return f.says(limitKind) || stemKinds(f.errorType())&limitKind != 0
}

func (f *facts) anyEmpty() bool {
	for _, b := range f.rateWindows {
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
	if span := namedByField(f.header); span != "" {
		f.said = span
		return RuleLongHeader
	}
	for _, b := range f.rateWindows {
		if b.empty() && b.long() {
			return RuleLongHeader
		}
	}
	return ""
}

// namedByField returns the long window that a field about limits names in its
// value: Xero's X-Rate-Limit-Problem, Zoom's X-RateLimit-Type. Empty for none.
func namedByField(header http.Header) window {
	for name, values := range header {
		if len(values) == 0 || len(values[0]) > maxValue || !anyFold(name, limitFields[:]) {
			continue
		}
		if newField(name, max(familyOf(name), 0)).role != noRole || strings.ContainsAny(values[0], "=;") {
			continue
		}
		switch value := strings.ToLower(values[0]); {
		case strings.Contains(value, "day"), strings.Contains(value, "daily"):
			return "day"
		case strings.Contains(value, "month"):
			return "month"
		}
	}
	return ""
}

// byStatus decides what is left by the status alone.
func (f *facts) byStatus() verdict {
	switch f.status {
	case 401, 403, 407, 511:
		challenged := strings.Contains(strings.ToLower(f.header.Get("Www-Authenticate")), "error=")
		return verdict{webhook.OutcomeAuth, RuleAuth, !challenged && !f.says(credentialKind|accountKind)}
	case 430, 440, 495, 496, 498:
		// Shopify's refusal of a caller; IIS and nginx for log-in and
		// certificates; Esri for tokens.
		return verdict{webhook.OutcomeAuth, RuleAuth, true}
	case 404, 405, 419, 421, 426, 497, 501, 505, 508:
		// 419 is Laravel's CSRF check, 497 plain HTTP at nginx's HTTPS port.
		return verdict{webhook.OutcomeMisdirected, RuleMisdirected, true}
	case 408, 425:
		return sure(webhook.OutcomeTransient, RuleTransient)
	case 409, 423, 424:
		return verdict{webhook.OutcomeTransient, RuleTransient, true}
	}
	if f.status >= 500 {
		return sure(webhook.OutcomeTransient, RuleTransient)
	}
	return verdict{webhook.OutcomeRejected, RuleRejected, !f.namesPayload()}
}

// shouldRetry lets the server's explicit word (Stripe's, OpenAI's) decide
// between trying again and giving up, and nothing else.
func (f *facts) shouldRetry(v verdict) verdict {
	word := f.header.Get("Stripe-Should-Retry")
	if word == "" {
		word = f.header.Get("X-Should-Retry")
	}
	limitOrFailure := v.outcome == webhook.OutcomeTransient || v.outcome == webhook.OutcomeRateLimited
	switch {
	case limitOrFailure && strings.EqualFold(strings.TrimSpace(word), "false"):
		return sure(webhook.OutcomeRejected, RuleShouldNotRetry)
	case v.outcome == webhook.OutcomeRejected && strings.EqualFold(strings.TrimSpace(word), "true"):
		return sure(webhook.OutcomeTransient, RuleShouldRetry)
	}
	return v
}
