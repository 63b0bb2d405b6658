package outbound

// kind is what words of a refusal speak of; a set of bits.
type kind uint32

const (
	sizeKind       kind = 1 << iota // this payload can never pass
	billKind                        // money or a long allowance, by a code that says so under any status
	allowanceKind                   // an allowance is used up
	limitKind                       // requests come too fast or too many
	objectKind                      // one recipient, card or chat that the payload names
	addressKind                     // the address or the endpoint's own setting is wrong
	awayKind                        // a tunnel or a host is not running
	credentialKind                  // credentials are named and refused
	accountKind                     // the same, told under any status: a key, a certificate, an account
	goneKind                        // the endpoint says that it was withdrawn
	ageKind                         // the signature or its time is too old
	fieldKind                       // a field or a value of the payload is named
	refusalKind                     // the path is named and refused
	spentKind                       // an allowance is used up that is never one of a short window
	moneyKind                       // a balance is too low, perhaps somebody else's
)

// guarded are the kinds that decide nothing in a clause that speaks of a field
// or a value: those words are the payload's.
const guarded = billKind | spentKind | moneyKind | allowanceKind | limitKind | addressKind | awayKind | credentialKind | accountKind | goneKind | refusalKind

// phrase is a run of words that says what a refusal is about.
type phrase struct {
	// words are in lower case. A space stands for any joint of two words: a
	// space, a hyphen or an underscore. A leading "_" asks for one before.
	words string
	kind
	// source says whose answers have them.
	source string
}

// phrases are the words that decide. One line is one way to say one thing;
// whoever adds a line adds a case to testdata/vectors/responses-kinds.json.
var phrases = [...]phrase{
	{"request too large", sizeKind, "Anthropic, Groq, OpenAI"},
	{"context length exceeded", sizeKind, "OpenAI"},
	{"maximum context length", sizeKind, "OpenAI"},
	{"payload too large", sizeKind, "RFC 9110, Express"},
	{"entity too large", sizeKind, "nginx, Express, S3"},
	{"content too large", sizeKind, "RFC 9110"},
	{"body too large", sizeKind, "Kestrel, Fastify, Go"},
	{"body is too large", sizeKind, "frameworks"},
	{"body is larger than", sizeKind, "ModSecurity"},
	{"data length is larger than", sizeKind, "ModSecurity"},
	{"body exceeded", sizeKind, "Django"},
	{"body exceeds", sizeKind, "frameworks"},
	{"body length exceeds", sizeKind, "frameworks"},
	{"payload exceeds", sizeKind, "frameworks"},
	{"message too large", sizeKind, "Kafka REST, Pub/Sub"},
	{"message is too large", sizeKind, "Pub/Sub"},
	{"message too long", sizeKind, "AWS SNS"},
	{"message must be shorter than", sizeKind, "AWS SQS"},
	{"message size exceeds", sizeKind, "mail and queue services"},
	{"message length limit", sizeKind, "mail and queue services"},
	{"request is too large", sizeKind, "frameworks"},
	{"request size exceeded", sizeKind, "AWS, frameworks"},
	{"request size exceeds", sizeKind, "frameworks"},
	{"payload is too large", sizeKind, "frameworks"},
	{"payload size exceeds", sizeKind, "Google, Firebase"},
	{"event too large", sizeKind, "event collectors"},
	{"prompt is too long", sizeKind, "Anthropic"},
	{"input is too long", sizeKind, "Anthropic, Bedrock"},
	{"prompt too long", sizeKind, "model servers"},
	{"input too long", sizeKind, "model servers"},
	{"string above max length", sizeKind, "OpenAI"},
	{"exceeds the maximum size", sizeKind, "Anthropic"},
	{"exceeds maximum size", sizeKind, "services"},
	{"exceeds the maximum allowed size", sizeKind, "services"},
	{"exceeds the request content length", sizeKind, "IIS 404.13"},
	{"exceeds the size limit", sizeKind, "services"},
	{"exceeds size limit", sizeKind, "services"},
	{"maximum request size", sizeKind, "services"},
	{"maximum request length", sizeKind, "ASP.NET"},
	{"maximum request body size", sizeKind, "IIS, Jetty"},
	{"max request body size", sizeKind, "Kestrel"},
	{"maximum upload size", sizeKind, "Spring"},
	{"maximum payload size", sizeKind, "services"},
	{"maximum message size", sizeKind, "services"},
	{"maximum body size", sizeKind, "frameworks"},
	{"maximum allowed content length", sizeKind, "IIS"},
	{"maximum content length", sizeKind, "frameworks"},
	{"max bytes to buffer", sizeKind, "Spring WebFlux"},
	{"content length of", sizeKind, "PHP's post_max_size"},
	{"content length limit", sizeKind, "frameworks"},
	{"content length exceeds", sizeKind, "frameworks"},
	{"content length exceeded", sizeKind, "Netty"},
	{"content length too large", sizeKind, "frameworks"},
	{"the request exceeds the configured maximum", sizeKind, "Tomcat, Jetty"},
	{"request was rejected because its size", sizeKind, "Tomcat's file upload"},
	{"header or cookie too large", sizeKind, "nginx"},
	{"request header too large", sizeKind, "Tomcat"},
	{"request header is too large", sizeKind, "Tomcat"},
	{"request header fields too large", sizeKind, "Node.js, Cowboy"},

	{"insufficient quota", billKind, "OpenAI"},
	{"credit balance exhausted", billKind, "OpenAI"},
	{"billing hard limit", billKind, "OpenAI"},
	{"billing not active", billKind, "OpenAI"},
	{"_spend limit exceeded", billKind, "OpenAI"},
	{"_usage limit exceeded", billKind, "OpenAI"},
	{"enforced spend limit reached", billKind, "OpenAI"},
	{"credit balance is too low", billKind, "Anthropic"},
	{"specified api usage limits", billKind, "Anthropic"},
	{"public api billing limit exceeded", billKind, "Airtable"},
	{"totalrequests limit", billKind, "Salesforce"},
	{"dailylimitexceeded", billKind, "Google"},
	{"over its serving quota", billKind, "App Engine"},
	{"error code: 1027", billKind, "Cloudflare Workers"},
	{"limitexceededexception", billKind, "AWS API Gateway"},
	// "Insufficient funds" is not here: it is what a bank says of one payment,
	// and an application may repeat it from the payload that it refuses.
	{"insufficient credit", billKind, "OpenRouter, Firecrawl"},
	{"insufficient balance", moneyKind, "DeepSeek"},
	{"insufficient account balance", moneyKind, "services that are paid in advance"},
	{"insufficient email credit", billKind, "Brevo"},
	{"insufficient sms credit", billKind, "Brevo"},
	{"out of credits", billKind, "OpenRouter"},
	{"not enough credits", billKind, "OpenRouter, Brevo"},
	{"requires more credits", billKind, "OpenRouter"},
	{"no credits remaining", billKind, "services that sell credits"},
	{"no credits left", billKind, "services that sell credits"},

	{"over its data quota", allowanceKind | spentKind, "Git LFS"},
	{"account over limit", allowanceKind | spentKind, "Mapbox"},
	{"over quota", allowanceKind, "services"},
	{"over your quota", allowanceKind, "services"},
	{"over the quota", allowanceKind, "services"},
	{"over query limit", allowanceKind | spentKind, "Google Maps"},
	{"plan limit reached", allowanceKind | spentKind, "services with plans"},
	{"quota reached", allowanceKind, "ExchangeRate-API"},
	{"usagecapexceeded", allowanceKind | spentKind, "X"},
	{"deployment paused", allowanceKind | spentKind, "Vercel"},

	{"rate limit", limitKind, "nearly everybody"},
	{"ratelimit", limitKind, "nearly everybody"},
	{"rate exceeded", limitKind, "AWS"},
	{"sending rate", limitKind, "AWS SES"},
	{"too many requests", limitKind, "RFC 6585"},
	{"too many calls", limitKind, "Meta"},
	{"too many attempts", limitKind, "Firebase, Laravel"},
	{"too many api", limitKind, "BigQuery"},
	{"too many messages", limitKind, "messengers"},
	{"too many concurrent", limitKind, "services"},
	{"requests too frequent", limitKind, "Vast.ai"},
	{"request too frequent", limitKind, "services"},
	{"frequency limit", limitKind, "Feishu"},
	{"flow control", limitKind, "Alibaba Cloud"},
	{"flood control", limitKind, "Telegram"},
	{"request limit", limitKind, "Meta, Salesforce"},
	{"over limit", limitKind, "Pipedrive"},
	{"requests limit", limitKind, "services"},
	{"request limited reached", limitKind, "Meta"},
	{"page request limit", limitKind, "Meta"},
	{"slow down", limitKind, "S3, Notion"},
	{"resource exhausted", limitKind, "Google"},
	{"quota exceeded", limitKind, "Google, Tyk"},
	{"quota has been exceeded", limitKind, "services"},
	{"quota exhausted", limitKind, "services"},
	{"quota is exhausted", limitKind, "services"},
	{"quota has been exhausted", limitKind, "Akamai"},
	{"quota has been used up", limitKind, "services"},
	{"exceeded your current quota", limitKind, "Gemini, OpenAI"},
	{"concurrentrequests limit", limitKind, "Salesforce"},
	{"usage limit exceeded", limitKind, "services"},
	{"usage limit reached", limitKind, "services"},
	{"usage limit has been", limitKind, "services"},
	{"daily limit exceeded", limitKind, "Google, Monday"},
	{"daily limit reached", limitKind, "services"},
	{"daily limit has been", limitKind, "services"},
	{"monthly limit exceeded", limitKind, "services"},
	{"monthly limit reached", limitKind, "services"},
	{"monthly limit has been", limitKind, "services"},
	{"requestlimitexceeded", limitKind, "AWS"},
	{"abuse detection mechanism", limitKind, "GitHub Enterprise Server"},
	{"wait a few minutes before you try again", limitKind, "GitHub, Instagram"},

	{"bot was blocked", objectKind, "Telegram"},
	{"blocked by the user", objectKind, "Telegram"},
	{"bot was kicked", objectKind, "Telegram"},
	{"bot is not a member", objectKind, "Telegram"},
	{"chat was deleted", objectKind, "Telegram"},
	{"chat not found", objectKind, "Telegram"},
	{"user is deactivated", objectKind, "Telegram"},
	{"initiate conversation with", objectKind, "Telegram"},
	{"send messages to bots", objectKind, "Telegram"},
	{"upgraded to a supergroup", objectKind, "Telegram"},
	{"not enough rights to send", objectKind, "Telegram"},
	{"have no rights to send", objectKind, "Telegram"},
	{"send messages to this user", objectKind, "Discord"},
	{"this person isn't available", objectKind, "Messenger"},
	{"outside of allowed window", objectKind, "Messenger"},
	{"card was declined", objectKind, "Stripe"},
	{"card declined", objectKind, "Stripe"},
	{"decline code", objectKind, "Stripe"},
	{"card has expired", objectKind, "Stripe"},
	{"expired card", objectKind, "Stripe"},
	{"do not honor", objectKind, "card networks"},
	{"payment method was declined", objectKind, "payment services"},
	{"payment was declined", objectKind, "payment services"},
	{"payment declined", objectKind, "payment services"},
	{"transaction declined", objectKind, "payment services"},
	{"instrument declined", objectKind, "PayPal"},
	{"is forbidden: exceeded quota", objectKind, "Kubernetes: one namespace"},
	{"unsubscribed recipient", objectKind, "Twilio"},
	{"unregistered", objectKind, "Firebase Cloud Messaging"},
	{"notregistered", objectKind, "Firebase Cloud Messaging"},
	{"channel not found", objectKind, "Slack"},
	{"user not found", objectKind, "services"},
	{"no such customer", objectKind, "Stripe"},
	{"resource missing", objectKind, "Stripe"},
	{"marked as inactive", objectKind, "Postmark"},

	{"plain http request was sent to https port", addressKind, "nginx"},
	{"speaking plain http to an ssl", addressKind, "Apache"},
	{"sent an http request to an https server", addressKind, "Go"},
	{"host and port requires tls", addressKind, "Tomcat"},
	{"instead use the https scheme", addressKind, "Apache"},
	{"https required", addressKind, "frameworks"},
	{"https is required", addressKind, "frameworks"},
	{"ssl required", addressKind, "frameworks"},
	{"ssl is required", addressKind, "frameworks"},
	{"must use https", addressKind, "frameworks"},
	{"requires https", addressKind, "frameworks"},
	{"invalid hostname", addressKind, "HTTP.sys"},
	{"hostname is invalid", addressKind, "HTTP.sys"},
	{"invalid host", addressKind, "webpack, proxies"},
	{"invalid http host header", addressKind, "Django"},
	{"disallowedhost", addressKind, "Django"},
	{"blocked host", addressKind, "Rails"},
	{"host not allowed", addressKind, "frameworks"},
	{"host is not allowed", addressKind, "frameworks"},
	{"to allow this host", addressKind, "Vite"},
	{"no such host", addressKind, "proxies"},
	{"unknown host", addressKind, "proxies"},
	{"unknown virtual host", addressKind, "proxies"},
	{"unknown domain", addressKind, "Fastly"},
	{"host not configured", addressKind, "proxies"},
	{"domain not configured", addressKind, "hosts"},
	{"not configured to allow the http request method", addressKind, "CloudFront"},
	{"direct ip access not allowed", addressKind, "Cloudflare"},
	{"error code: 1003", addressKind, "Cloudflare"},
	{"csrf", addressKind, "Django, Laravel, Express, Spring"},
	{"xsrf", addressKind, "Angular's servers, Tornado"},
	{"page expired", addressKind, "Laravel"},
	{"authenticity token", addressKind, "Rails"},
	{"anti forgery", addressKind, "ASP.NET"},
	{"antiforgery", addressKind, "ASP.NET"},
	{"forgery protection", addressKind, "frameworks"},
	{"cross site post", addressKind, "SvelteKit"},
	{"route not found", refusalKind | addressKind, "frameworks"},
	{"no route matched", refusalKind, "Kong"},
	{"no such app", refusalKind, "Heroku"},
	{"web site not found", refusalKind, "Azure"},
	{"no matching route", refusalKind, "frameworks"},
	{"no route found", refusalKind, "Symfony"},

	{"err ngrok", awayKind, "ngrok"},
	{"no active service", awayKind, "Koyeb"},
	{"application is not available", awayKind, "OpenShift"},
	{"web app is stopped", awayKind, "Azure"},
	{"application not found", awayKind, "Railway"},
	{"no tunnel", awayKind, "localhost.run"},
	{"temporarily unavailable", awayKind, "hosts"},
	{"down for maintenance", awayKind, "hosts"},
	{"under maintenance", awayKind, "hosts"},
	{"due to maintenance", awayKind, "hosts"},
	{"maintenance mode", awayKind, "hosts"},
	{"scheduled maintenance", awayKind, "hosts"},

	{"invalid api key", accountKind, "nearly everybody"},
	{"incorrect api key", accountKind, "OpenAI"},
	{"api key not valid", accountKind, "Google"},
	{"api key invalid", accountKind, "Google"},
	{"api key is invalid", accountKind, "services"},
	{"api key expired", accountKind, "Google"},
	{"api key has expired", accountKind, "services"},
	{"missing api key", accountKind, "services"},
	{"no api key", accountKind, "Kong"},
	{"no required ssl certificate was sent", accountKind, "nginx"},
	{"ssl certificate error", accountKind, "nginx"},
	{"ssl client certificate", accountKind, "IIS"},
	{"client certificate", accountKind, "IIS, gateways"},
	{"requires your browser to have a secure sockets layer", accountKind, "IIS"},
	{"organization has been disabled", accountKind, "Anthropic"},
	{"account has been suspended", accountKind, "services"},
	{"account is suspended", accountKind, "services"},
	{"account suspended", accountKind, "services"},
	{"account has been disabled", accountKind, "services"},
	{"account is disabled", accountKind, "services"},
	{"account has been deactivated", accountKind, "OpenAI"},
	{"sending paused", accountKind, "AWS SES"},
	{"invalid access token", credentialKind, "OAuth"},
	{"invalid token", credentialKind, "OAuth"},
	{"token expired", credentialKind, "OAuth"},
	{"token has expired", credentialKind, "OAuth"},
	{"token is expired", credentialKind, "OAuth"},
	{"expired token", credentialKind, "OAuth"},
	{"jwt expired", credentialKind, "JSON Web Tokens"},
	{"signature has expired", credentialKind, "JSON Web Tokens"},
	{"bad credentials", credentialKind, "GitHub"},
	{"invalid credentials", credentialKind, "services"},
	{"invalid username or password", credentialKind, "services"},
	{"incorrect username or password", credentialKind, "services"},
	{"authentication credentials were not provided", credentialKind, "Django REST framework"},
	{"missing authorization header", credentialKind, "services"},
	{"ip address is not allowed", credentialKind, "services"},
	{"ip not allowed", credentialKind, "services"},
	{"not accessible by integration", credentialKind, "GitHub"},
	{"insufficient scope", credentialKind, "OAuth"},
	{"missing scope", credentialKind, "Slack"},

	{"no longer", goneKind, "withdrawn endpoints"},
	{"is archived", goneKind, "Slack"},
	{"has been removed", goneKind, "withdrawn endpoints"},
	{"was removed", goneKind, "withdrawn endpoints"},
	{"has been deleted", goneKind, "withdrawn endpoints"},
	{"discontinued", goneKind, "withdrawn endpoints"},
	{"has been retired", goneKind, "withdrawn endpoints"},
	{"decommissioned", goneKind, "withdrawn endpoints"},
	{"unsubscribed", goneKind, "Web Push"},

	{"outside the tolerance", ageKind, "stripe"},
	{"outside of the tolerance", ageKind, "libraries like stripe's"},
	{"outside of tolerance", ageKind, "libraries like stripe's"},
	{"outside tolerance", ageKind, "libraries like stripe's"},
	{"timestamp too old", ageKind, "svix, standardwebhooks"},
	{"timestamp is too old", ageKind, "Slack's older library"},
	{"invalid request timestamp", ageKind, "Slack's events library"},
	{"must differ from system time", ageKind, "@slack/bolt"},
	{"authenticity: stale", ageKind, "@slack/bolt"},
	{"request is stale", ageKind, "@slack/bolt"},
	{"stale request", ageKind, "receivers for Slack"},
	{"stale signature", ageKind, "receivers"},
	{"stale timestamp", ageKind, "receivers"},
	{"expired signature", ageKind, "receivers"},
	{"signature expired:", ageKind, "AWS Signature"},
	{"signature is too old", ageKind, "receivers"},
	{"signature too old", ageKind, "receivers"},
	{"webhook is too old", ageKind, "receivers"},
	{"webhook too old", ageKind, "receivers"},
	{"webhook expired", ageKind, "receivers"},
	{"webhook has expired", ageKind, "receivers"},
	{"request is too old", ageKind, "Cal.com"},
	{"request too old", ageKind, "receivers"},
	{"request expired", ageKind, "receivers"},
	{"request has expired", ageKind, "receivers"},
	{"possible replay", ageKind, "receivers"},
	{"replay attack", ageKind, "receivers"},

	{"is required", fieldKind, "validators"},
	{"must be", fieldKind, "validators"},
	{"must have", fieldKind, "validators"},
	{"must not", fieldKind, "validators"},
	{"must contain", fieldKind, "validators"},
	{"must match", fieldKind, "validators"},
	{"should be", fieldKind, "validators"},
	{"can't be blank", fieldKind, "Rails"},
	{"cannot be blank", fieldKind, "validators"},
	{"cannot be empty", fieldKind, "validators"},
	{"cannot be null", fieldKind, "validators"},
	{"may not be", fieldKind, "Django REST framework"},
	{"is not a valid", fieldKind, "Django, pydantic"},
	{"not a valid", fieldKind, "validators"},
	{"invalid value", fieldKind, "validators"},
	{"invalid parameter", fieldKind, "validators"},
	{"invalid field", fieldKind, "validators"},
	{"missing required", fieldKind, "validators"},
	{"missing field", fieldKind, "serde"},
	{"missing parameter", fieldKind, "validators"},
	{"missing property", fieldKind, "validators"},
	{"required property", fieldKind, "JSON Schema"},
	{"required field", fieldKind, "validators"},
	{"field required", fieldKind, "pydantic"},
	{"in field", fieldKind, "validators"},
	{"unknown field", fieldKind, "protobuf, Go"},
	{"unexpected field", fieldKind, "validators"},
	{"unknown event", fieldKind, "receivers"},
	{"unsupported event", fieldKind, "receivers"},
	{"unhandled event", fieldKind, "receivers"},
	{"unknown type", fieldKind, "receivers"},
	{"unsupported type", fieldKind, "receivers"},
	{"not a supported", fieldKind, "receivers"},
	{"unrecognized", fieldKind, "receivers"},
	{"not a number", fieldKind, "validators"},
	{"expected string", fieldKind, "validators"},
	{"expected number", fieldKind, "validators"},
	{"value error", fieldKind, "pydantic"},
	{"type error", fieldKind, "pydantic"},
	{"does not match pattern", fieldKind, "JSON Schema"},
}

// stems are parts of words that are written together, as in the names of
// errors and exceptions.
var stems = [...]phrase{
	{"throttl", limitKind, "AWS, Microsoft"},
	{"ratelimit", limitKind, "names of errors"},
	{"slowdown", limitKind, "S3"},
	{"toomany", limitKind, "names of errors"},
	{"quotaexceeded", limitKind | allowanceKind, "Google"},
	{"requestlimit", limitKind, "AWS"},
	{"throughputexceeded", limitKind, "AWS"},
	{"toolarge", sizeKind, "names of errors"},
	{"toobig", sizeKind, "Django"},
	{"uploadsizeexceeded", sizeKind, "Spring"},
	{"bufferlimit", sizeKind, "Spring WebFlux"},
	{"toolongframe", sizeKind, "Netty"},
	{"timestamptooold", ageKind, "names of errors"},
	{"timestampexpired", ageKind, "names of errors"},
	{"authenticitytoken", addressKind, "Rails"},
	{"storagequotaexceeded", allowanceKind, "Google Drive"},
	{"dailylimitexceeded", allowanceKind, "Google"},
}

// class is the part that a word plays in a clause; a set of bits.
type class uint32

const (
	allowanceWord class = 1 << iota // credits, bandwidth: what can be used up
	quotaWord                       // quota: an allowance, but of any window
	ownerWord                       // account, plan: whose limit it is
	limitWord                       // limit, cap
	requestWord                     // requests, calls
	rateWord                        // rate
	overWord                        // exceeded, reached
	outWord                         // "out" after "run": see [reader.word]
	strangerWord                    // customer, wallet: somebody else's
	recipientWord                   // recipient, chat, card: one object of the payload
	refusedWord                     // blocked, declined
	hostWord                        // tunnel, endpoint, site
	awayWord                        // offline, stopped
	timestampWord                   // timestamp
	signatureWord                   // signature, webhook: what carries a time
	oldWord                         // old, stale, tolerance
	recordWord                      // entry, sample: has a time of its own
	balanceWord                     // balance: ours where an account is named with it
	usageWord                       // usage: an allowance where a limit is named with it
	noWord                          // no, zero
	leftWord                        // left, remaining
	fieldWord                       // field, parameter
	tokenWord                       // token, session: what expires by itself
	characterWord                   // character, length: a limit on text
)

// classes are the words of the rules about clauses, see [clause.kinds].
var classes = map[class][]string{
	allowanceWord: {
		"credit", "credits", "budget", "allowance", "searches", "bandwidth", "storage", "egress",
		"spend", "spending", "billing", "volume", "prepaid",
	},
	quotaWord: {"quota", "quotas"},
	ownerWord: {
		"account", "plan", "subscription", "organization", "organisation", "workspace", "project", "key", "tier", "team", "license",
	},
	limitWord: {"limit", "limits", "limited", "cap", "maximum", "max", "threshold", "limitation", "limitations"},
	requestWord: {
		"request", "requests", "call", "calls", "api", "apis", "invocations", "queries", "operations", "attempts",
		"messages", "emails", "hits", "daily", "monthly", "hourly", "concurrent", "qps", "rps", "tps", "rpm", "tpm",
	},
	rateWord:      {"rate", "rates", "frequency", "speed"},
	overWord:      {"exceeded", "exceeds", "exceed", "exceeding", "exhausted", "reached", "reach", "crossed", "depleted", "surpassed", "consumed", "insufficient", "hit"},
	balanceWord:   {"balance"},
	usageWord:     {"usage"},
	noWord:        {"no", "zero", "0"},
	leftWord:      {"left", "remaining", "available"},
	fieldWord:     {"field", "parameter", "attribute"},
	strangerWord:  {"customer", "wallet", "buyer", "payer", "order", "orders", "invoice", "cart", "user's", "payee", "sender's"},
	recipientWord: {"recipient", "recipients", "bot", "chat", "card", "cardholder", "issuer", "subscriber", "device", "contact", "mailbox", "recipient's"},
	refusedWord:   {"blocked", "kicked", "deactivated", "unsubscribed", "inactive", "declined", "deleted", "opted", "unreachable", "bounced", "suppressed", "blacklisted"},
	hostWord:      {"tunnel", "endpoint", "host", "site", "website", "server", "app", "application", "instance", "container", "space", "deployment"},
	awayWord:      {"offline", "stopped", "sleeping", "asleep", "hibernated", "unreachable", "unavailable", "restarting", "disconnected", "closed"},
	timestampWord: {"timestamp", "timestamps"},
	signatureWord: {"signature", "webhook", "message", "request", "delivery", "callback", "signed"},
	oldWord:       {"old", "older", "stale", "tolerance", "expired", "outdated", "skew", "drift", "outside", "past", "range", "window", "replay", "recent", "fresh"},
	recordWord:    {"entry", "entries", "sample", "samples", "stream", "metric", "series", "point", "log", "record", "records", "datapoint", "oldest"},
	tokenWord:     {"token", "jwt", "session", "bearer", "access"},
	characterWord: {"character", "characters", "length", "text", "string", "words"},
}

// payloadNames are members whose values are the payload's own words, repeated.
var payloadNames = [...]string{
	`"input"`, `"received"`, `"payload"`, `"rejected_value"`, `"rejectedvalue"`, `"value"`, `"actual"`, `"got"`,
	`"invalid_value"`, `"request_body"`, `"requestbody"`, `"echo"`, `"your_request"`, `"attempted_value"`,
	`"attemptedvalue"`, `"submitted"`, `"params"`, `"instance_value"`,
}

// fieldNames are members that name a field of the payload, where they hold
// anything at all.
var fieldNames = [...]string{
	`"field"`, `"fields"`, `"param"`, `"parameter"`, `"pointer"`, `"loc"`, `"property"`, `"property_path"`, `"propertypath"`,
	`"violations"`, `"instancepath"`, `"datapath"`, `"validation_errors"`, `"validationerrors"`, `"constraint"`, `"invalid_params"`,
	`"invalid-params"`, `"fieldviolations"`, `"field_errors"`, `"fielderrors"`, `"attribute"`,
}
