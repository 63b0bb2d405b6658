package outbound

import "strings"

// The words that decide, in folded form. They come from the documentation of
// the providers named and from answers seen in their users' reports.

// sizeWords say that this payload can never pass. Whoever adds to these lists
// sees to it that [reader.anchor] knows a word of the new phrase; a test does.
var sizeWords = [...]string{
	"request_too_large", "context_length_exceeded", "maximum context length",
	"payload too large", "payload_too_large", "payloadtoolarge",
	"request too large", "requesttoolarge", "entity too large", "entitytoolarge",
	"entity_too_large", "content too large", "content_too_large",
	"body too large", "body is too large", "body_too_large",
	"message too large", "message is too large", "message_too_large",
	"request is too large", "payload is too large", "event too large",
	"prompt is too long", "input is too long", "prompt too long", "input too long",
	"string_above_max_length", "exceeds the maximum size", "exceeds maximum size",
	"exceeds the maximum allowed size", "maximum request size",
}

// billingWords name money or a long allowance, under any status.
var billingWords = [...]string{
	"insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached", // OpenAI
	"_spend_limit_exceeded", "_usage_limit_exceeded", "enforced_spend_limit_reached", // OpenAI
	"credit balance is too low", "specified api usage limits", // Anthropic
	"public_api_billing_limit_exceeded", // Airtable
	"totalrequests limit",               // Salesforce
	"dailylimitexceeded",                // Google
	"over its serving quota",            // App Engine
	"error code: 1027",                  // Cloudflare Workers
	// OpenRouter and others that sell credits. "Insufficient funds" is not
	// here: it is what a bank says of one payment, and an application may
	// repeat it from the payload that it refuses.
	"insufficient credit", "insufficient_credit", "out of credits", "not enough credits",
}

// quotaException is API Gateway's name for a spent usage plan; its throttle
// has another.
const quotaException = "limitexceededexception"

// limitWords make a limit of a 400 or 403.
var limitWords = [...]string{
	"rate limit", "rate_limit", "ratelimit", "rate-limit", "rate exceeded",
	"too many requests", "too_many_requests", "toomanyrequests", "too many calls",
	"throttl", "request limit", "request_limit", "requests limit",
	"slow down", "slow_down", "slowdown", "resource_exhausted",
	"quota exceeded", "quota_exceeded", "quotaexceeded", "quota has been exceeded",
	"exceeded your current quota", "concurrentrequests limit",
	"quota exhausted", "quota is exhausted", "quota has been exhausted", "quota has been used up",
	"usage limit exceeded", "usage limit reached", "usage limit has been",
	"daily limit exceeded", "daily limit reached", "daily limit has been",
	"monthly limit exceeded", "monthly limit reached", "monthly limit has been",
	"requestlimitexceeded", "throughputexceeded", // AWS
}

// containsAny reports whether a text holds one of the words.
func containsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// containsWord reports whether a text holds a word that is not part of a
// longer one.
func containsWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(word)
		if (start == 0 || !isWordByte(text[start-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		at = end
	}
}

func isWordByte(c byte) bool { return isLower(c) || isDigit(c) || c == '_' }

// member finds the first value of a JSON member in a folded text that need not
// be whole. It returns what follows the value, to go on from.
func member(text, name string) (value, rest string, ok bool) {
	for {
		i := strings.Index(text, name)
		if i < 0 {
			return "", "", false
		}
		quoted := i > 0 && (text[i-1] == '"' || text[i-1] == '\'')
		text = text[i+len(name):]
		if !quoted {
			continue
		}
		if value, rest, ok := valueOf(text); ok {
			return value, rest, true
		}
	}
}

// valueOf reads the value of a member whose name ends where the text begins: a
// text, a number or a word. A value that the end of the text cuts off does not
// count.
func valueOf(text string) (value, rest string, ok bool) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return "", "", false
	}
	text, ok = strings.CutPrefix(strings.TrimLeft(text[1:], " "), ":")
	if !ok {
		return "", "", false
	}
	text = strings.TrimLeft(text, " ")
	ends := ",}] "
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		ends, text = text[:1], text[1:]
	}
	end := strings.IndexAny(text[:min(len(text), maxValue)], ends)
	if end < 0 {
		return "", "", false
	}
	return text[:end], text[end:], true
}
