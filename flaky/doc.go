// Package flaky is a scripted downstream: an HTTP server that misbehaves on
// purpose, the same way each time, and counts what it was sent. It stands
// behind "weir flaky" and "weir demo" and behind the tests.
//
// # Guarantees
//
// The same script and the same requests at the same times get the same
// answers, chances included (they come from the script's seed). Every request
// is counted, whatever it is answered. Memory is bounded: of requests the last
// [keptRequests] are kept, of event ids the first [keptEvents]. Time is
// time.Now, so that inside testing/synctest a day costs nothing.
//
// # Vocabulary
//
// A [Script] is a list of rules. A [Rule] says when it applies ([When]) and
// what it answers ([Answer]). For each request the first rule that applies
// answers; where none does, the answer is 200. Times count from [New].
//
// A cap or a quota applies when it is used up. A request that gets past it
// uses it, whatever a later rule makes of the request; refused ones use
// nothing. So put a cap behind the refusals that shall not use it up.
//
// # Example
//
//	{
//	  "about": "three bad seconds, then 60 requests a minute, bodies up to 10 kB",
//	  "rules": [
//	    {"name": "outage", "when": {"from": "10s", "to": "13s"}, "status": 503},
//	    {"name": "warming up", "when": {"last": 5}, "fault": "reset"},
//	    {"name": "too large", "when": {"larger_than": 10000}, "status": 413},
//	    {"name": "cap", "when": {"over": "60/1m"}, "status": 429,
//	     "headers": {"Retry-After": "{retry_after}"}, "body": "slow down"},
//	    {"name": "fine", "delay": "20ms", "status": 200}
//	  ]
//	}
//
// Headers and bodies may name these figures: {retry_after} whole seconds
// until the rule no longer applies, rounded up; {wait} the same as a duration;
// {retry_date} and {reset_unix} the same as a moment; {limit}, {used} and
// {requested} of the cap, quota or size; {size} of the request's body;
// {number} of the request; {event}, its Weir-Event-Id.
//
// # Reading the counts
//
// [Server.Stats], [Server.Requests] and [Server.Events] answer inside the
// process; GET /_flaky/stats, /_flaky/requests and /_flaky/events answer the
// same as JSON from outside, and are not counted themselves.
package flaky
