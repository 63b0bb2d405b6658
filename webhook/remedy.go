package webhook

import "strings"

// HoldRemedy says what a person can do about a hold; "" when waiting is enough.
func HoldRemedy(hold Hold, destination string) string {
	variable := "WEIR_DESTINATION_" + strings.ToUpper(strings.ReplaceAll(destination, "-", "_"))
	switch hold.Basis {
	case BasisPresumed:
		return "It is presumed, waiting for a second witness: the next event that arrives is sent at once and decides. " +
			"If there is none, check " + variable + "_URL and _HEADERS, or resume to try at once."
	case BasisSameRefusal:
		return "It refuses everything with the same words, so they are not about the payloads. Read them, check " +
			variable + "_URL and _HEADERS, then restart, or resume to try at once."
	}
	switch hold.Reason {
	case HoldPaused:
		return "Resume it when the destination is ready."
	case HoldGone:
		return "Correct " + variable + "_URL and restart, or resume if the address is right again."
	case HoldAuth:
		return "Correct the credentials in " + variable + "_HEADERS or its URL and restart, or resume if the destination was corrected."
	case HoldMisdirected:
		return "Check " + variable + "_URL: path, method and redirects. Then restart, or resume to try at once."
	case HoldQuota:
		return "Wait for the reset, or raise the allowance at the destination and resume."
	default:
		return ""
	}
}
