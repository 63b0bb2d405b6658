package webhook

// The names of the fields of log lines. A field means the same wherever it
// appears. None ever holds a header's value, a query, a body or a secret.
const (
	LogSource      = "source"      // a configured source, or "unknown"
	LogDestination = "destination" // a configured destination
	LogEvent       = "event"       // the id of an event
	LogResult      = "result"      // a Result
	LogOutcome     = "outcome"     // an Outcome
	LogReason      = "reason"      // why, in a stable phrase
	LogRule        = "rule"        // the name of the rule that decided
	LogState       = "state"       // a State
	LogStatus      = "status"      // an HTTP status
	LogAttempt     = "attempt"     // the number of an attempt
	LogSecret      = "secret"      // the position of the secret that matched
	LogBytes       = "bytes"       // the size of a body
	LogDuration    = "duration_ms" // how long it took, in milliseconds
	LogWait        = "wait_ms"     // how long until the next attempt, in milliseconds
	LogUntil       = "until"       // when a hold ends or is probed
	LogClient      = "client"      // the client's network address
	LogRequest     = "request"     // the request id that the client was told
	LogRoute       = "route"       // a route pattern, never a path
	LogCount       = "count"       // how many
	LogSuppressed  = "suppressed"  // lines that were left out in a flood
	LogError       = "error"       // an error's text
	LogAlert       = "alert"       // what a person is told
	LogFrom        = "from"        // what chose a time: a header's name, or "own wait"
	LogHeader      = "header"      // the name of a header, never its value
	LogStack       = "stack"       // where a fault happened in the program
	LogAddress     = "address"     // a network address that is listened on
	LogVersion     = "version"     // of the program
	LogDatabase    = "database"    // the path of the database
	LogPragmas     = "pragmas"     // the database's settings in force
	LogSettings    = "settings"    // settings by their names, without secrets
	LogPending     = "pending"     // deliveries that wait
	LogDead        = "dead"        // deliveries that ended without success
	LogCut         = "cut"         // attempts that weir ended itself
)
