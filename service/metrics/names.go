package metrics

// The names of all metrics. Units are in the names: seconds and bytes.
const (
	metricBuildInfo = "weir_build_info"
	metricReady     = "weir_ready"
	MetricRequests  = "weir_http_requests_total"

	metricIntake         = "weir_intake_requests_total"
	metricIntakeBytes    = "weir_intake_bytes_total"
	metricIntakeDuration = "weir_intake_duration_seconds"
	metricIntakeInflight = "weir_intake_inflight_bytes"
	metricSecretMatched  = "weir_secret_matched_total"
	metricLimitsHit      = "weir_limits_hit_total"
	MetricSilence        = "weir_source_silence_seconds"

	metricAttempts        = "weir_attempts_total"
	metricAttemptDuration = "weir_attempt_duration_seconds"
	metricFirstAttempts   = "weir_first_attempts_total"
	metricProbes          = "weir_probes_total"
	metricWitnesses       = "weir_witnesses_total"
	metricDelivered       = "weir_deliveries_delivered_total"
	metricDied            = "weir_deliveries_died_total"
	metricRedelivered     = "weir_deliveries_redelivered_total"
	metricLatency         = "weir_delivery_latency_seconds"

	metricPending       = "weir_deliveries_pending"
	metricDead          = "weir_deliveries_dead"
	metricDue           = "weir_deliveries_due"
	metricOldestDue     = "weir_oldest_due_age_seconds"
	metricOldest        = "weir_oldest_pending_age_seconds"
	metricHeld          = "weir_destination_held"
	metricNeedsOperator = "weir_destination_needs_operator"
	metricLastSuccess   = "weir_destination_last_success_timestamp_seconds"
	metricRetriesLeft   = "weir_destination_retries_left"
	metricStuck         = "weir_destination_stuck"

	MetricCommitDuration   = "weir_store_commit_duration_seconds"
	MetricCommitOperations = "weir_store_commit_operations"
	metricCommitFailures   = "weir_store_commit_failures_total"
	MetricDatabaseBytes    = "weir_store_database_bytes"
	metricFreeBytes        = "weir_store_free_bytes"
	metricLogBytes         = "weir_store_log_bytes"
	MetricMaxBytes         = "weir_store_max_bytes"
	MetricVolumeFree       = "weir_store_volume_free_bytes"

	metricAlerts = "weir_alerts_total"

	MetricGoroutines   = "weir_go_goroutines"
	MetricHeap         = "weir_go_heap_bytes"
	MetricProcessCPU   = "weir_process_cpu_seconds_total"
	MetricProcessRSS   = "weir_process_resident_memory_bytes"
	MetricProcessFiles = "weir_process_open_fds"
	MetricProcessStart = "weir_process_start_time_seconds"
)

// The kinds of metrics, as the text format calls them.
const (
	kindCounter   = "counter"
	kindGauge     = "gauge"
	KindHistogram = "histogram"
)

// Family is one metric with all its series.
type Family struct {
	Name   string
	Kind   string
	Labels string // names, separated by spaces
	Help   string
}

// Families lists every metric in the order of docs/metrics.md. A test holds
// the page to it.
func Families() []Family {
	return []Family{
		{metricBuildInfo, kindGauge, "version commit goversion", "Always 1; the labels tell what is running."},
		{metricReady, kindGauge, "", "1 while events can be accepted, as at /readyz."},
		{MetricRequests, kindCounter, "route", "Requests by class of route, whatever they were answered."},

		{metricIntake, kindCounter, "source result", "Requests to receive paths, by what became of them."},
		{metricIntakeBytes, kindCounter, "source", "Bytes of bodies that were received, refused ones included."},
		{metricIntakeDuration, KindHistogram, "", "Time from a request's headers to the answer, of events that are stored."},
		{metricIntakeInflight, kindGauge, "", "Bytes of bodies that are being received now, bounded by WEIR_MAX_INFLIGHT."},
		{metricSecretMatched, kindCounter, "source secret", "Verified requests by the position of the secret that matched; 0 is the current one."},
		{metricLimitsHit, kindCounter, "source reason", "Requests that were refused by a limit."},
		{MetricSilence, kindGauge, "source", "Time since the last accepted event; since the start when none is known."},

		{metricAttempts, kindCounter, "destination outcome", "Requests that were sent, by the destination they went to and what came back."},
		{metricAttemptDuration, KindHistogram, "destination", "Time from the start of an attempt to the end of its answer."},
		{metricFirstAttempts, kindCounter, "destination", "Attempts that were the first of their delivery."},
		{metricProbes, kindCounter, "destination", "Attempts that tested a hold or an open breaker."},
		{metricWitnesses, kindCounter, "destination result", "Answers that confirmed or refuted the presumed refusal of another payload."},
		{metricDelivered, kindCounter, "destination", "Deliveries that succeeded."},
		{metricDied, kindCounter, "destination reason", "Deliveries that ended without success."},
		{metricRedelivered, kindCounter, "destination", "Deliveries that an operator made pending again."},
		{metricLatency, KindHistogram, "destination", "Time from the receipt of an event to its delivery."},

		{metricPending, kindGauge, "destination reason", "Pending deliveries by what they wait for."},
		{metricDead, kindGauge, "destination", "Dead deliveries that are kept and can be redelivered."},
		{metricDue, kindGauge, "destination", "Pending deliveries whose own next time is reached."},
		{metricOldestDue, kindGauge, "destination", "How long the oldest due delivery has been due; 0 when nothing is."},
		{metricOldest, kindGauge, "destination", "How long the oldest delivery has waited to be through; 0 when nothing waits."},
		{metricHeld, kindGauge, "destination reason", "1 while the destination is held for this reason, or its breaker is open."},
		{metricNeedsOperator, kindGauge, "destination", "1 while a hold needs a person."},
		{metricLastSuccess, kindGauge, "destination", "When the destination last took a delivery, in Unix time; 0 is never."},
		{metricRetriesLeft, kindGauge, "destination", "Free places in the window of RETRY_BUDGET."},
		{metricStuck, kindGauge, "destination", "1 when the destination's delivery loop is stuck."},

		{MetricCommitDuration, KindHistogram, "", "Time of a transaction of the writer, its sync included."},
		{MetricCommitOperations, KindHistogram, "", "Events, records and the like that one transaction held."},
		{metricCommitFailures, kindCounter, "", "Transactions that failed for the sake of the disk or the file."},
		{MetricDatabaseBytes, kindGauge, "", "Size of the database file."},
		{metricFreeBytes, kindGauge, "", "Part of the database file that the next events will take."},
		{metricLogBytes, kindGauge, "", "Size of the write-ahead log."},
		{MetricMaxBytes, kindGauge, "", "The cap of the store, WEIR_MAX_DATABASE; 0 is none."},
		{MetricVolumeFree, kindGauge, "", "Free bytes of the volume that the database is on."},

		{metricAlerts, kindCounter, "result", "Messages for WEIR_ALERT_URL: sent, failed, or dropped because too many waited."},

		{MetricGoroutines, kindGauge, "", "Goroutines of the process."},
		{MetricHeap, kindGauge, "", "Memory of live and not yet collected objects."},
		{MetricProcessCPU, kindCounter, "", "Processor time of the process, user and system."},
		{MetricProcessRSS, kindGauge, "", "Resident memory of the process."},
		{MetricProcessFiles, kindGauge, "", "Open file descriptors of the process."},
		{MetricProcessStart, kindGauge, "", "When the process began, in Unix time."},
	}
}

// The classes of the label route.
const (
	routeHooks     = "/hooks"
	routeOperator  = "/v1"
	routeMetrics   = "/metrics"
	routeHealth    = "health"
	routeDashboard = "other"
)

// RouteClasses lists them.
func RouteClasses() []string {
	return []string{routeHooks, routeOperator, routeMetrics, routeHealth, routeDashboard}
}

// breakerOpen is the reason of metricHeld beside those of holds.
const breakerOpen = "breaker"
