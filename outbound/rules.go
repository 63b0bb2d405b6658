package outbound

// The stable names of the rules that decide an outcome. They are kept with
// every attempt and shown to operators; they are never renamed.
const (
	// A status that decides alone.
	RuleSuccess       = "status_success"       // any 2xx
	RuleInformational = "status_informational" // a final 1xx
	RuleRedirect      = "status_redirect"      // any 3xx: not followed
	RuleGone          = "status_gone"          // 410
	RuleInvalidStatus = "status_invalid"       // outside 100 to 599
	RuleAuth          = "status_auth"          // 401, 403, 407, 430, 440, 495, 496, 498, 511
	RuleMisdirected   = "status_misdirected"   // 404, 405, 419, 421, 426, 497, 501, 505, 508
	RuleTransient     = "status_transient"     // 408, 409, 423, 424, 425, 5xx
	RuleRejected      = "status_rejected"      // every other 4xx
	RuleAllowance     = "status_allowance"     // 402, 507, 509

	// A payload that can never pass.
	RuleFigures       = "figures_requested_over_limit" // Requested M > Limit N
	RuleSizeStatus    = "status_too_large"             // 413, 414, 431, 494
	RuleSizeTemporary = "status_too_large_temporary"   // 413 with a Retry-After
	RuleSizeWords     = "words_too_large"

	// A refusal that is about this delivery alone.
	RuleSignatureAge = "words_signature_age" // the signature is too old
	RuleOneObject    = "words_one_object"    // one recipient, chat or card

	// What words tell under another status than its own.
	RuleAddressWords    = "words_wrong_address"
	RuleAway            = "host_away"         // a tunnel or host is not running
	RuleCredentialWords = "words_credentials" // a key, a certificate, an account

	// A long allowance that is spent.
	RuleBillingWords  = "words_billing_or_long_quota"
	RuleBillingReason = "reason_quota"       // the field RateLimit-Reason
	RuleQuotaID       = "quota_id_per_day"   // Google's QuotaFailure
	RuleLongWords     = "words_long_window"  // per day, per month
	RuleLongHeader    = "header_long_window" // an empty window of an hour or more
	RuleLongWait      = "wait_of_an_hour_or_more"
	RuleUsedUp        = "words_used_up" // an allowance, and no short window or wait

	// A short window that is full.
	RuleLimited = "rate_limited"

	// The server's own word on retries.
	RuleShouldNotRetry = "should_retry_false"
	RuleShouldRetry    = "should_retry_true"

	// No answer came.
	RuleDNS            = "network_dns"
	RuleRefused        = "network_refused"
	RuleUnreachable    = "network_unreachable"
	RuleConnectTimeout = "network_connect_timeout"
	RuleTLSAuthority   = "network_tls_unknown_authority"
	RuleTLSExpired     = "network_tls_expired"
	RuleTLSName        = "network_tls_name"
	RuleTLSCertificate = "network_tls_certificate"
	RuleTLSHandshake   = "network_tls_handshake"
	RuleTLSTimeout     = "network_tls_timeout"
	RuleWriteTimeout   = "network_write_timeout"
	RuleHeaderTimeout  = "network_header_timeout"
	RuleHeaderTooLarge = "network_header_too_large"
	RuleMalformed      = "network_malformed_answer"
	RuleReset          = "network_reset"
	RuleEOF            = "network_eof"
	RuleHTTP2          = "network_http2"
	RuleNetwork        = "network_other"
)
