package outbound

import "strings"

// clause is a sentence, a value or a part of one, while it is read.
type clause struct {
	classes class
	found   kind
}

// has reports that words of all these classes are in the clause.
func (c clause) has(all class) bool { return c.classes&all == all }

// any reports that a word of one of these classes is in it.
func (c clause) any(some class) bool { return c.classes&some != 0 }

// kinds tells what a clause speaks of: what its phrases say, and what follows
// from the parts that its words play. Words that a validation error or
// somebody else's money brings in decide nothing.
func (c clause) kinds() kind {
	found := c.found
	ours := !c.any(strangerWord | characterWord)
	if ours && c.usedUp() {
		found |= allowanceKind
		if !c.any(quotaWord) || c.any(allowanceWord) {
			found |= spentKind
		}
	}
	if ours && c.any(requestWord|rateWord) && c.has(limitWord|overWord) {
		found |= limitKind
	}
	if c.has(recipientWord | refusedWord) {
		found |= objectKind
	}
	if c.has(hostWord | awayWord) {
		found |= awayKind
	}
	if c.any(timestampWord) && c.any(oldWord) {
		found |= ageKind
	}
	if c.any(recordWord) || c.any(tokenWord) && !c.any(timestampWord) {
		found &^= ageKind
	}
	if c.any(strangerWord) {
		found &^= billKind | moneyKind
	}
	if found&fieldKind != 0 || c.any(fieldWord) {
		found &^= guarded
	}
	return found
}

// usedUp reports that an allowance of the account's is named and said to be
// used up. A rate is none, and the balance of an account has to be called so.
func (c clause) usedUp() bool {
	allowance := c.any(allowanceWord|quotaWord) || c.has(usageWord|limitWord) || c.has(balanceWord|ownerWord)
	switch {
	case c.has(noWord|leftWord) && c.any(allowanceWord|quotaWord):
		return true
	case c.any(outWord) && c.any(allowanceWord|quotaWord|requestWord):
		return true
	case !c.any(overWord) || c.any(rateWord):
		return false
	}
	return allowance || c.has(ownerWord|limitWord) && !c.any(requestWord)
}

// entry is what is known of one word: its classes and the phrases that begin
// with it.
type entry struct {
	classes class
	phrases []phrase
}

// index is the tables of words by the first word of each line.
type index struct {
	entries map[string]entry
	// starts holds the first two letters of all words: most words of a text
	// are known by them not to be in the tables.
	starts [1 << 10]bool
}

// vocabulary is the index of the tables; it is never changed.
var vocabulary = newIndex(phrases[:], classes)

func newIndex(phrases []phrase, classes map[class][]string) *index {
	x := &index{entries: map[string]entry{}}
	for class, words := range classes {
		for _, word := range words {
			e := x.entries[word]
			e.classes |= class
			x.add(word, e)
		}
	}
	for _, p := range phrases {
		word := firstWord(p.words)
		e := x.entries[word]
		e.phrases = append(e.phrases, p)
		x.add(word, e)
	}
	return x
}

func (x *index) add(word string, e entry) {
	x.entries[word] = e
	x.starts[startOf(word)] = true
}

// startOf numbers the first two bytes of a word.
func startOf(word string) int {
	if len(word) < 2 {
		return int(word[0]&31) << 5
	}
	return int(word[0]&31)<<5 | int(word[1]&31)
}

// firstWord returns the letters and digits with which a phrase begins.
func firstWord(words string) string {
	words = strings.TrimPrefix(words, "_")
	end := 0
	for end < len(words) && (isLower(words[end]) || isDigit(words[end])) {
		end++
	}
	return words[:end]
}

// find returns what is known of a word.
func (x *index) find(word string) (entry, bool) {
	if !x.starts[startOf(word)] {
		return entry{}, false
	}
	e, ok := x.entries[word]
	return e, ok
}

// matches reports whether the phrase stands in text at start, up to the end of
// a word or the beginning of its ending ("throttl").
func (p phrase) matches(text string, start int) bool {
	words := p.words
	if words[0] == '_' {
		if start == 0 || text[start-1] != '_' {
			return false
		}
		words = words[1:]
	}
	at := start
	for i := 0; i < len(words); i++ {
		if words[i] != ' ' {
			if at == len(text) || text[at] != words[i] {
				return false
			}
			at++
			continue
		}
		joint := at
		for at < len(text) && at-joint < maxJoint && isJoint(text[at]) {
			at++
		}
		if at == joint {
			return false
		}
	}
	return true
}

// maxJoint is the most characters between two words of a phrase.
const maxJoint = 3

func isJoint(c byte) bool { return c == ' ' || c == '_' || c == '-' || c == '+' }

// shortestStem is the length of the shortest stem.
const shortestStem = 6

// stemKinds finds stems within a long word.
func stemKinds(word string) kind {
	var found kind
	for _, stem := range stems {
		if len(word) >= len(stem.words) && strings.Contains(word, stem.words) {
			found |= stem.kind
		}
	}
	return found
}

// endsClause reports whether c parts clauses: a quotation mark, a bracket, the
// end of a sentence.
func endsClause(c byte) bool {
	switch c {
	case '"', '{', '}', '[', ']', ';', '!', '?', '|':
		return true
	}
	return false
}
