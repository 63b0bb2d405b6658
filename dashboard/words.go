package dashboard

import "weir/webhook"

// waitingWords says what a delivery waits for.
func waitingWords(waitingFor webhook.WaitingFor) string {
	switch waitingFor {
	case webhook.WaitInFlight:
		return "a request is out right now"
	case webhook.WaitPaused:
		return "an operator paused the destination"
	case webhook.WaitGone:
		return "the downstream says that its address is gone"
	case webhook.WaitAuth:
		return "the downstream refuses our credentials"
	case webhook.WaitMisdirected:
		return "the downstream's address seems to be wrong"
	case webhook.WaitQuota:
		return "a long allowance of the downstream is used up"
	case webhook.WaitRetryAfter:
		return "the downstream asked for a pause"
	case webhook.WaitBreaker:
		return "too many requests failed lately"
	case webhook.WaitBudget:
		return "our own rate or retry budget is used up"
	case webhook.WaitPace:
		return "the next free slot of the pace"
	case webhook.WaitRefused:
		return "set aside: others are taken; its own next time"
	case webhook.WaitBackoff:
		return "its own next time after a failure"
	case webhook.WaitDue:
		return "its turn: it is next"
	default:
		return visible(string(waitingFor))
	}
}

// deadWords says why a delivery ended.
func deadWords(reason webhook.DeadReason) string {
	switch reason {
	case webhook.DeadRejected:
		return "the downstream refused this payload"
	case webhook.DeadRefused:
		return "the downstream refused this delivery again and again, and took others"
	case webhook.DeadTooLarge:
		return "the payload is too large for the downstream"
	case webhook.DeadMisdirected:
		return "the address was wrong three times"
	case webhook.DeadExhausted:
		return "all attempts are spent"
	case webhook.DeadExpired:
		return "it waited longer than MAX_AGE"
	case webhook.DeadCancelled:
		return "an operator cancelled it"
	default:
		return visible(string(reason))
	}
}

// outcomeWords says what an attempt was.
func outcomeWords(outcome webhook.Outcome) string {
	switch outcome {
	case webhook.OutcomeDelivered:
		return "Delivered"
	case webhook.OutcomeRateLimited:
		return "Rate limited"
	case webhook.OutcomeQuotaExhausted:
		return "Quota used up"
	case webhook.OutcomeTransient:
		return "Failed for now"
	case webhook.OutcomeNetwork:
		return "No answer"
	case webhook.OutcomeRejected:
		return "Payload refused"
	case webhook.OutcomeTooLarge:
		return "Payload too large"
	case webhook.OutcomeGone:
		return "Address gone"
	case webhook.OutcomeMisdirected:
		return "Wrong address"
	case webhook.OutcomeAuth:
		return "Credentials refused"
	default:
		return visible(string(outcome))
	}
}

// tone is how serious something is; the strings are classes of the stylesheet.
type tone string

const (
	toneGood tone = "good"
	toneWait tone = "wait"
	toneBad  tone = "bad"
	toneCalm tone = "calm"
)

// outcomeTone is the tone of an attempt.
func outcomeTone(outcome webhook.Outcome) tone {
	switch outcome {
	case webhook.OutcomeDelivered:
		return toneGood
	case webhook.OutcomeRateLimited, webhook.OutcomeQuotaExhausted, webhook.OutcomeTransient, webhook.OutcomeNetwork:
		return toneWait
	default:
		return toneBad
	}
}

// stateTone is the tone of a delivery.
func stateTone(state webhook.State) tone {
	switch state {
	case webhook.Delivered:
		return toneGood
	case webhook.Dead:
		return toneBad
	default:
		return toneWait
	}
}
