package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
)

const (
	// keyRound is how many names of keys gather before they move into their
	// table.
	keyRound = 1 << 15
	// keyStep is how many of them move in one transaction, beside two for each
	// key that it gives away: so a round is over long before the next is due,
	// and no transaction is much longer than others.
	keyStep = 16
)

// keyName names a key with its source.
type keyName [dedupeBytes]byte

// held says which event has a key: the one at a place.
type held struct {
	name keyName
	seq  int64
}

// keys knows which event has each key. A name is random, so that an index of
// them costs a page for each new event, which is most of what intake would
// write to a store that holds many. The newest are therefore kept in memory, as
// many as keyRound or a little more, and move into the table together, sorted:
// then one page takes many of them.
//
// The event itself keeps its name, so nothing is lost in a crash: a start reads
// the names of the events behind keys_to again. Whatever is not behind it goes
// into the table at once.
//
// The writer alone changes it, and takes back what belonged to a transaction
// that was rolled back. Readers look here first, then in the table: a name goes
// from here only when the table that has it is committed.
type keys struct {
	// mu guards recent against readers.
	mu     sync.RWMutex
	recent map[keyName]int64

	// to is the place that bounds recent: only events behind it are there.
	to int64
	// size is how many names gather, pace how many move in a step at least.
	size, pace int
	// round are the names that are moving, sorted, and moved how many have;
	// step says how many move in the present transaction.
	round       []held
	moved, step int
	// undo takes the present transaction's changes of recent back.
	undo []change
}

// change is one change of recent, as it was before.
type change struct {
	held
	was bool
}

func newKeys() *keys { return &keys{recent: map[keyName]int64{}, size: keyRound, pace: keyStep} }

// find looks for a name among the recent ones. Anyone may call it.
func (k *keys) find(name keyName) (seq int64, found bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	seq, found = k.recent[name]
	return seq, found
}

// set gives a name to an event.
func (k *keys) set(name keyName, seq int64) {
	k.note(name)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.recent[name] = seq
}

// drop takes a name out.
func (k *keys) drop(name keyName) {
	k.note(name)
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.recent, name)
}

// note keeps how a name stands now.
func (k *keys) note(name keyName) {
	seq, was := k.recent[name]
	k.undo = append(k.undo, change{held{name, seq}, was})
}

// committed makes the changes of a transaction final.
func (k *keys) committed() {
	k.undo = k.undo[:0]
	k.forget(k.round[k.moved : k.moved+k.step])
	k.moved, k.step = k.moved+k.step, 0
	if k.moved == len(k.round) {
		k.round, k.moved = nil, 0
	}
}

// forget drops what is in the table now.
func (k *keys) forget(moved []held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range moved {
		if k.recent[h.name] == h.seq {
			delete(k.recent, h.name)
		}
	}
}

// rolledBack takes the changes of a transaction back, the last one first.
func (k *keys) rolledBack() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range slices.Backward(k.undo) {
		if c.was {
			k.recent[c.name] = c.seq
		} else {
			delete(k.recent, c.name)
		}
	}
	k.undo, k.step = k.undo[:0], 0
}

// begin starts a round with all that has gathered, once that is enough.
func (k *keys) begin() {
	if len(k.recent) < k.size {
		return
	}
	k.round = make([]held, 0, len(k.recent))
	for name, seq := range k.recent {
		k.round = append(k.round, held{name, seq})
		k.to = max(k.to, seq)
	}
	slices.SortFunc(k.round, func(a, b held) int {
		return cmp.Or(bytes.Compare(a.name[:], b.name[:]), cmp.Compare(a.seq, b.seq))
	})
}

// loadKeys reads the names that are not in the table.
func (s *session) loadKeys() error {
	var err error
	if s.keys.to, err = s.number(`SELECT value FROM facts WHERE name = 'keys_to'`); err != nil {
		return fmt.Errorf("reading how many keys are in their table: %w", err)
	}
	const newest = `SELECT dedupe, seq FROM events WHERE seq > ?1 AND dedupe IS NOT NULL`
	err = s.each(newest, []any{s.keys.to}, func(rows *sql.Rows) error {
		var name sql.RawBytes
		var seq int64
		err := rows.Scan(&name, &seq)
		if err == nil && len(name) == dedupeBytes {
			s.keys.recent[keyName(name)] = seq
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the newest keys: %w", err)
	}
	return nil
}

// keyTable is how the table says which event has a name.
const keyTable = `SELECT seq FROM keys WHERE name = +?1`

// holder returns the place of the event that has a key. No name has none.
func (s *session) holder(name []byte) (seq int64, found bool, err error) {
	if name == nil {
		return 0, false, nil
	}
	if seq, found = s.keys.find(keyName(name)); found {
		return seq, true, nil
	}
	found, err = s.row(keyTable, []any{name}, &seq)
	return seq, found, err
}

// holder returns the place of the event that has a key now;
// [webhook.ErrNotFound] when none has.
func (s *Store) holder(ctx context.Context, source, key string) (int64, error) {
	name, _ := dedupeNames(source, key, [sha256.Size]byte{})
	if seq, found := s.keys.find(keyName(name)); found {
		return seq, nil
	}
	var seq int64
	err := s.reads.row(ctx, keyTable, []any{name}, &seq)
	return seq, err
}

// hasRecent reports whether a key is held and not in the table yet.
func (s *session) hasRecent(name []byte) bool {
	if name == nil {
		return false
	}
	_, found := s.keys.find(keyName(name))
	return found
}

// claim gives a key that nobody has to an event.
func (s *session) claim(name []byte, seq int64) error {
	if name == nil {
		return nil
	}
	if seq > s.keys.to {
		s.keys.set(keyName(name), seq)
		return nil
	}
	return s.tabulate(held{keyName(name), seq})
}

// tabulate writes a name into the table.
func (s *session) tabulate(h held) error {
	const insert = `INSERT INTO keys (name, seq) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq`
	_, err := s.exec(insert, h.name[:], h.seq)
	return err
}

// release takes a key from the event that has it.
func (s *session) release(name []byte) error {
	if len(name) != dedupeBytes {
		return nil
	}
	if s.hasRecent(name) {
		s.keys.drop(keyName(name))
	}
	_, err := s.exec(`DELETE FROM keys WHERE name = +?1`, name)
	return err
}

// moveKeys takes one step of a round. What has lost its name or given it on
// since the round began stays behind.
func (s *session) moveKeys() error {
	k := s.keys
	if len(k.round) == 0 {
		k.begin()
	}
	if len(k.round) == 0 {
		return nil
	}
	step := k.round[k.moved:min(k.moved+k.pace+2*len(k.undo), len(k.round))]
	for _, h := range step {
		if k.recent[h.name] != h.seq {
			continue
		}
		if err := s.tabulate(h); err != nil {
			return fmt.Errorf("moving keys: %w", err)
		}
	}
	k.step = len(step)
	if k.moved+k.step < len(k.round) {
		return nil
	}
	changed, err := s.exec(setFact, "keys_to", k.to)
	if err == nil && changed != 1 {
		err = errors.New("the fact keys_to is missing")
	}
	return err
}
