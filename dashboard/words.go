package dashboard

import (
	"weir/webhook"
	"weir/webhook/wording"
)

// waitingWords says what a delivery waits for.
func waitingWords(waitingFor webhook.WaitingFor) string { return wording.WaitingFor(waitingFor) }

// deadWords says why a delivery ended.
func deadWords(reason webhook.DeadReason) string { return wording.DeadReason(reason) }

// outcomeWords labels what an attempt was.
func outcomeWords(outcome webhook.Outcome) string { return wording.Outcome(outcome) }

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
