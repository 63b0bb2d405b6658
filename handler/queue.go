package handler

import "weir/webhook"

// QueueByWait splits the pending deliveries of a destination by what they wait
// for, as the operator API shows them. What nothing waits for is left out.
func QueueByWait(queue webhook.Queue, status webhook.Status) map[webhook.WaitingFor]int {
	return queueOf(queue, status)
}
