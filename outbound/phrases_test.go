package outbound

import (
	"testing"
	"time"
)

// Phrases are looked for only where one of their words was met, so every one
// must have such a word.
func TestEveryPhraseHasAnAnchor(t *testing.T) {
	for _, list := range []struct {
		phrases []string
		met     func(words) bool
	}{
		{sizeWords[:], func(w words) bool { return w.sizes }},
		{billingWords[:], func(w words) bool { return w.bills }},
		{[]string{quotaException}, func(w words) bool { return w.bills }},
		{limitWords[:], func(w words) bool { return w.limits }},
	} {
		for _, phrase := range list.phrases {
			for _, text := range []string{phrase, "x" + phrase + "y", "(" + phrase + ")"} {
				if text[0] == 'x' && isLower(phrase[0]) && phrase[0] != '_' {
					continue // another word, which only its underscores divide
				}
				if !list.met(readWords(text, time.Time{})) {
					t.Errorf("%q would not be looked for", text)
				}
			}
		}
	}
	if found := readWords("nothing of the kind", time.Time{}); found.sizes || found.bills || found.limits {
		t.Errorf("found %+v in a text without any", found)
	}
}
