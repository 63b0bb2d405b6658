package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"weir/webhook"
)

const (
	// keyRound is how many names of keys gather before they move into their
	// table.
	keyRound = 1 << 15
	// keyGrain is after how many moved names it is noted how far a round has
	// come.
	keyGrain = 64
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
// the names of the events behind a place that is kept as the fact keys_to. A
// round moves all that is up to another place, which becomes keys_to when the
// round is over; how far it has come is kept, too (keys_round, keys_moved), so
// that it goes on after a restart. What comes in late, before that place, goes
// into the table at once.
//
// The writer alone changes it, and what belongs to a transaction is seen by the
// writer only until that is committed. Readers look here, then in the table, and
// wait for nobody. Where an event gives its name to another, they see it here
// from before the commit on, so that there is no moment without a holder.
type keys struct {
	// mu guards recent and given against readers. given are the names that
	// change hands in the present transaction, with their last holder.
	mu     sync.RWMutex
	recent map[keyName]int64
	given  map[keyName]int64

	// to is the place that bounds recent: only events behind it are added.
	// behind counts the events there, with a key or without, and newest is
	// the place of the last.
	to, newest int64
	behind     int
	// size is how many events there may be behind it, pace how many names
	// move in a step at least, grain how many before that is noted.
	size, pace, grain int

	// moving says that a round is on; round are its names, sorted, moved how
	// many have moved, and noted how many when that was last noted.
	moving       bool
	round        []held
	moved, noted int

	// What follows belongs to the present transaction: the names that it gives
	// to an event, or takes from one (0); its events, and the last place; and
	// how many names it moves.
	changes  map[keyName]int64
	inserted int
	last     int64
	step     int
}

func newKeys() *keys {
	return &keys{
		recent: map[keyName]int64{}, given: map[keyName]int64{}, changes: map[keyName]int64{},
		size: keyRound, pace: keyStep, grain: keyGrain,
	}
}

// find looks for a name among the recent ones that are committed. Anyone may
// call it.
func (k *keys) find(name keyName) (seq int64, found bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if seq, found = k.recent[name]; !found {
		seq, found = k.given[name]
	}
	return seq, found
}

// give shows readers the event that has a name as long as the present
// transaction lasts, in which another gets it.
func (k *keys) give(h held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.given[h.name] = h.seq
}

// now is find for the writer, with the changes of its transaction.
func (k *keys) now(name keyName) (seq int64, found bool) {
	if seq, changed := k.changes[name]; changed {
		return seq, seq != 0
	}
	seq, found = k.recent[name]
	return seq, found
}

// placed counts an event of the present transaction.
func (k *keys) placed(seq int64) {
	if seq > k.to {
		k.inserted++
		k.last = max(k.last, seq)
	}
}

// committed makes the changes of a transaction final, and begins a round when
// enough has gathered: only what is committed may move.
func (k *keys) committed() {
	k.publish()
	k.moved += k.step
	k.behind += k.inserted
	k.newest = max(k.newest, k.last)
	k.reset()
	if k.moving && k.moved == len(k.round) {
		k.moving, k.round, k.moved, k.noted = false, nil, 0, 0
	}
	if !k.moving && k.behind >= k.size {
		k.begin()
	}
}

// publish shows readers the changes, and drops what is in the table now.
func (k *keys) publish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, seq := range k.changes {
		if seq == 0 {
			delete(k.recent, name)
		} else {
			k.recent[name] = seq
		}
	}
	for _, h := range k.round[k.moved : k.moved+k.step] {
		if k.recent[h.name] == h.seq {
			delete(k.recent, h.name)
		}
	}
	clear(k.given)
}

// rolledBack takes the changes of a transaction back.
func (k *keys) rolledBack() {
	k.mu.Lock()
	clear(k.given)
	k.mu.Unlock()
	k.reset()
	k.noted = min(k.noted, k.moved)
}

func (k *keys) reset() {
	clear(k.changes)
	k.inserted, k.last, k.step = 0, 0, 0
}

// begin starts a round with all that is there.
func (k *keys) begin() {
	k.moving, k.moved, k.noted = true, 0, 0
	k.to, k.behind = max(k.to, k.newest), 0
	k.round = make([]held, 0, len(k.recent))
	for name, seq := range k.recent {
		k.round = append(k.round, held{name, seq})
	}
	k.sort()
}

func (k *keys) sort() {
	slices.SortFunc(k.round, func(a, b held) int { return bytes.Compare(a.name[:], b.name[:]) })
}

// order is the beginning of a name as a number that sorts like it, as far as a
// fact can hold it.
func (n keyName) order() int64 { return int64(binary.BigEndian.Uint64(n[:]) >> 1) }

// loadKeys reads the names that are not in the table, and goes on with the round
// that was on.
func (s *session) loadKeys() error {
	k := s.keys
	var until, moved int64
	for name, value := range map[string]*int64{"keys_to": &k.to, "keys_round": &until, "keys_moved": &moved} {
		if _, err := s.row(`SELECT value FROM facts WHERE name = +?1`, []any{name}, value); err != nil {
			return fmt.Errorf("reading the fact %s: %w", name, err)
		}
	}
	err := s.each(`SELECT dedupe, seq FROM events WHERE seq > ?1`, []any{k.to}, func(rows *sql.Rows) error {
		var name sql.RawBytes
		var seq int64
		err := rows.Scan(&name, &seq)
		if seq > until {
			k.behind, k.newest = k.behind+1, max(k.newest, seq)
		}
		if err == nil && len(name) == dedupeBytes {
			k.load(held{keyName(name), seq}, until, moved)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the newest keys: %w", err)
	}
	if k.moving = until > 0; k.moving {
		k.to = until
		k.sort()
	}
	return nil
}

// load takes one name in. What a round up to a place has moved is left out.
func (k *keys) load(h held, until, moved int64) {
	if h.seq <= until && h.name.order() < moved {
		return
	}
	k.recent[h.name] = h.seq
	if h.seq <= until {
		k.round = append(k.round, h)
	}
}

// keyTable is how the table says which event has a name.
const keyTable = `SELECT seq FROM keys WHERE name = +?1`

// holder returns the place of the event that has a key. No name has none.
func (s *session) holder(name []byte) (seq int64, found bool, err error) {
	if name == nil {
		return 0, false, nil
	}
	if seq, found = s.keys.now(keyName(name)); found {
		return seq, true, nil
	}
	found, err = s.row(keyTable, []any{name}, &seq)
	return seq, found, err
}

// holder returns the place of the event that has a key now;
// [webhook.ErrNotFound] when none has.
func (s *Store) holder(ctx context.Context, source, key string) (int64, error) {
	name, _ := dedupeNames(source, key, [sha256.Size]byte{})
	seq, err := s.lookUp(ctx, name)
	if errors.Is(err, webhook.ErrNotFound) {
		// It may have left the table between the two looks; then it is in
		// memory now.
		return s.lookUp(ctx, name)
	}
	return seq, err
}

// lookUp looks for a name in memory, then in the table.
func (s *Store) lookUp(ctx context.Context, name []byte) (seq int64, err error) {
	if seq, found := s.keys.find(keyName(name)); found {
		return seq, nil
	}
	err = s.reads.row(ctx, keyTable, []any{name}, &seq)
	return seq, err
}

// hasRecent reports whether a key is held and not in the table yet.
func (s *session) hasRecent(name []byte) bool {
	if name == nil {
		return false
	}
	_, found := s.keys.now(keyName(name))
	return found
}

// claim gives a key that nobody has to an event.
func (s *session) claim(name []byte, seq int64) error {
	switch {
	case name == nil:
		return nil
	case seq > s.keys.to:
		s.keys.changes[keyName(name)] = seq
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

// release takes a key from an event, if that has it.
func (s *session) release(name []byte, seq int64) error {
	if len(name) != dedupeBytes {
		return nil
	}
	if holder, found := s.keys.now(keyName(name)); found && holder == seq {
		s.keys.changes[keyName(name)] = 0
	}
	_, err := s.exec(`DELETE FROM keys WHERE name = +?1 AND seq = +?2`, name, seq)
	return err
}

// moveKeys takes one step of a round. What has lost its name or given it on
// since the round began stays behind.
func (s *session) moveKeys() error {
	k := s.keys
	if !k.moving {
		return nil
	}
	step := k.round[k.moved:min(k.moved+k.pace+2*k.inserted, len(k.round))]
	for _, h := range step {
		if seq, found := k.now(h.name); !found || seq != h.seq {
			continue
		}
		if err := s.tabulate(h); err != nil {
			return fmt.Errorf("moving keys: %w", err)
		}
	}
	k.step = len(step)
	if err := s.noteRound(step); err != nil {
		return fmt.Errorf("noting how far keys have moved: %w", err)
	}
	return nil
}

// noteRound notes how far a round has come: with its first step after a start,
// so that even short lives come to its end, then with each small part of it, and
// when it is over.
func (s *session) noteRound(step []held) error {
	k := s.keys
	moved := k.moved + k.step
	switch {
	case moved == len(k.round):
		return s.setFacts(map[string]int64{"keys_to": k.to, "keys_round": 0, "keys_moved": 0})
	case k.moved == 0, moved-k.noted >= k.grain:
		k.noted = moved
		return s.setFacts(map[string]int64{"keys_round": k.to, "keys_moved": step[len(step)-1].name.order()})
	}
	return nil
}

func (s *session) setFacts(facts map[string]int64) error {
	for name, value := range facts {
		if _, err := s.exec(setFact, name, value); err != nil {
			return err
		}
	}
	return nil
}
