package outbound

import (
	"testing"
	"time"
)

// Phrases are looked for at their first words only, so every line of the
// tables must be found that way, however it is joined.
func TestEveryPhraseIsFound(t *testing.T) {
	for _, p := range append(phrases[:], stems[:]...) {
		if p.source == "" || p.kind == 0 {
			t.Errorf("%q has no source or no kind", p.words)
		}
		for _, text := range []string{p.words, "(" + p.words + ")", "it says " + p.words + " to all"} {
			r := reader{text: text, sent: nil}
			r.words = readWords(text, nil, time.Time{})
			if found := r.kinds; found&p.kind != p.kind && found&fieldKind == 0 {
				t.Errorf("%q is not found in %q: %b, want %b", p.words, text, found, p.kind)
			}
		}
	}
	if found := readWords("nothing of the kind", nil, time.Time{}); found.kinds != 0 {
		t.Errorf("found %b in a text without any", found.kinds)
	}
}
