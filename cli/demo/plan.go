package demo

import (
	"context"
	"crypto/rand"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"weir/flaky"
)

// naiveWorkers is as many as weir's own default for requests in flight.
const naiveWorkers = 4

// plan is what a demo does and when. Times count from its start.
type plan struct {
	script flaky.Script
	// cap is how many requests per minute the script lets through.
	cap int64
	// honest is the sender whose webhooks matter, greedy the one that sends
	// far more than it may.
	honest burst
	greedy burst
	// greedyRate is what weir lets the greedy one send.
	greedyRate string
	// temp is where the demo's folder is made; empty is the system's place.
	temp string
	// most bounds the storm, whatever happens.
	most time.Duration
	// after is what follows the table.
	after func(context.Context, *demo) error
}

// burst is a number of webhooks, evenly spread over a time.
type burst struct {
	from   time.Duration
	over   time.Duration
	events int
	// repeatEach repeats each so-manieth webhook, as senders do whose
	// connection broke before the answer came; 0 repeats none.
	repeatEach int
}

// fullPlan fits a bad day into half a minute. The destination takes 60 requests
// in a minute of the clock; the demo begins 23 seconds before a new one, so
// that nobody has to wait for a whole minute.
func fullPlan() plan {
	const perMinute = 60
	return plan{
		cap: perMinute,
		script: badDay(times{
			outage: 4 * time.Second, recovered: 8 * time.Second,
			cap: perMinute, reset: 23 * time.Second,
		}),
		honest:     burst{from: 200 * time.Millisecond, over: 13 * time.Second, events: 64, repeatEach: 4},
		greedy:     burst{from: 6 * time.Second, over: 4 * time.Second, events: 36},
		greedyRate: "10/1m",
		most:       55 * time.Second,
		after:      func(context.Context, *demo) error { return nil },
	}
}

// times are what differs between the demo and its test.
type times struct {
	outage    time.Duration
	recovered time.Duration
	cap       int64
	reset     time.Duration
}

// badDay is the destination's bad day. The paths are those of the
// destinations; crm and archive come into play with --stay only.
func badDay(at times) flaky.Script {
	return flaky.Script{
		About:   "an outage, and a cap per minute",
		Latency: flaky.Duration(20 * time.Millisecond),
		Rules: []flaky.Rule{
			{
				Name: "wrong credentials", When: flaky.When{Path: "/crm"},
				Answer: flaky.Answer{Status: http.StatusUnauthorized, Body: `{"error":"invalid_api_key"}`},
			},
			{
				Name: "refused once", When: flaky.When{Path: "/archive", Tries: 1},
				Answer: flaky.Answer{Status: http.StatusUnprocessableEntity, Body: `{"error":"unknown field: colour"}`},
			},
			{
				Name: "outage", When: flaky.When{From: flaky.Duration(at.outage), To: flaky.Duration(at.recovered)},
				Answer: flaky.Answer{
					Status: http.StatusServiceUnavailable, Body: "we will be back soon\n",
					Headers: map[string]string{"Retry-After": "{retry_after}"},
				},
			},
			{
				Name: "cap", When: flaky.When{Quota: &flaky.Quota{
					Limit: at.cap, Cost: 1, Reset: flaky.Duration(at.reset), Every: flaky.Duration(time.Minute),
				}},
				Answer: flaky.Answer{
					Status: http.StatusTooManyRequests, Body: `{"error":"{limit} requests per minute are used up; try again in {retry_after}s"}`,
					Headers: map[string]string{"Retry-After": "{retry_after}", "Content-Type": "application/json"},
				},
			},
		},
	}
}

// The sources of the demo.
const (
	honestSource = "shop"
	greedySource = "scraper"
	// crmSource and archiveSource are used with --stay only.
	crmSource     = "crm"
	archiveSource = "archive"
)

// environ returns the settings of the inner service, which are all that an
// operator would have to write.
func (p plan) environ(d *demo, destination string) []string {
	d.token = rand.Text()
	return []string{
		"WEIR_ADDR=127.0.0.1:0",
		"WEIR_DATABASE=" + filepath.Join(d.folder, "weir.db"),
		"WEIR_API_TOKEN=" + d.token,
		"WEIR_LOG_FORMAT=json",
		"WEIR_SOURCES=" + strings.Join([]string{honestSource, greedySource, crmSource, archiveSource}, ","),
		"WEIR_SOURCE_SHOP_SCHEME=shopify",
		"WEIR_SOURCE_SHOP_SECRET=" + rand.Text(),
		"WEIR_SOURCE_SCRAPER_SCHEME=github",
		"WEIR_SOURCE_SCRAPER_SECRET=" + rand.Text(),
		"WEIR_SOURCE_SCRAPER_RATE=" + p.greedyRate,
		"WEIR_SOURCE_CRM_SCHEME=typeform",
		"WEIR_SOURCE_CRM_SECRET=" + rand.Text(),
		"WEIR_SOURCE_CRM_TO=crm",
		"WEIR_SOURCE_ARCHIVE_SCHEME=stripe",
		"WEIR_SOURCE_ARCHIVE_SECRET=" + rand.Text(),
		"WEIR_SOURCE_ARCHIVE_TO=archive",
		"WEIR_DESTINATIONS=default,crm,archive",
		"WEIR_FORWARD_URL=" + destination + "/app",
		"WEIR_DESTINATION_CRM_URL=" + destination + "/crm",
		"WEIR_DESTINATION_ARCHIVE_URL=" + destination + "/archive",
	}
}
