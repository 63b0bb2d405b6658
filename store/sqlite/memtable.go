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
	flushSize = 1 << 15
	// keyGrain is after how many moved names it is noted how far a round has
	// come.
	flushNoteEvery = 64
	// keyStep is how many of them move in one transaction, beside two for each
	// key that it gives away: so a round is over long before the next is due,
	// and no transaction is much longer than others.
	flushStep = 16
)

// keyName names a key with its source.
type keyName [dedupeBytes]byte

// held says which event has a key: the one at a place.
type keyEntry struct {
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
type memtable struct {
	// mu guards recent and given against readers. given are the names that
	// change hands in the present transaction, with their last holder.
	mu         sync.RWMutex
	entries    map[keyName]int64
	reassigned map[keyName]int64

	// to is the place that bounds recent: only events behind it are added.
	// behind counts the events there, with a key or without, and newest is
	// the place of the last.
	to, newest int64
	gathered   int
	// size is how many events there may be behind it, pace how many names
	// move in a step at least, grain how many before that is noted.
	flushSize, flushStep, noteEvery int

	// moving says that a round is on; round are its names, sorted, moved how
	// many have moved, and noted how many when that was last noted.
	flushing       bool
	flush          []keyEntry
	flushed, noted int

	// What follows belongs to the present transaction: the names that it gives
	// to an event, or takes from one (0); its events, and the last place; and
	// how many names it moves.
	changes    map[keyName]int64
	inserted   int
	last       int64
	flushedNow int
}

func newMemtable() *memtable {
	return &memtable{
		entries: map[keyName]int64{}, reassigned: map[keyName]int64{}, changes: map[keyName]int64{},
		flushSize: flushSize, flushStep: flushStep, noteEvery: flushNoteEvery,
	}
}

// find looks for a name among the recent ones that are committed. Anyone may
// call it.
func (m *memtable) find(name keyName) (seq int64, found bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if seq, found = m.entries[name]; !found {
		seq, found = m.reassigned[name]
	}
	return seq, found
}

// give shows readers the event that has a name as long as the present
// transaction lasts, in which another gets it.
func (m *memtable) reassign(h keyEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reassigned[h.name] = h.seq
}

// now is find for the writer, with the changes of its transaction.
func (m *memtable) owner(name keyName) (seq int64, found bool) {
	if seq, changed := m.changes[name]; changed {
		return seq, seq != 0
	}
	seq, found = m.entries[name]
	return seq, found
}

// placed counts an event of the present transaction.
func (m *memtable) countInsert(seq int64) {
	if seq > m.to {
		m.inserted++
		m.last = max(m.last, seq)
	}
}

// committed makes the changes of a transaction final, and begins a round when
// enough has gathered: only what is committed may move.
func (m *memtable) committed() {
	m.publish()
	m.flushed += m.flushedNow
	m.gathered += m.inserted
	m.newest = max(m.newest, m.last)
	m.reset()
	if m.flushing && m.flushed == len(m.flush) {
		m.flushing, m.flush, m.flushed, m.noted = false, nil, 0, 0
	}
	if !m.flushing && m.gathered >= m.flushSize {
		m.beginFlush()
	}
}

// publish shows readers the changes, and drops what is in the table now.
func (m *memtable) publish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, seq := range m.changes {
		if seq == 0 {
			delete(m.entries, name)
		} else {
			m.entries[name] = seq
		}
	}
	for _, h := range m.flush[m.flushed : m.flushed+m.flushedNow] {
		if m.entries[h.name] == h.seq {
			delete(m.entries, h.name)
		}
	}
	clear(m.reassigned)
}

// rolledBack takes the changes of a transaction back.
func (m *memtable) rolledBack() {
	m.mu.Lock()
	clear(m.reassigned)
	m.mu.Unlock()
	m.reset()
	m.noted = min(m.noted, m.flushed)
}

func (m *memtable) reset() {
	clear(m.changes)
	m.inserted, m.last, m.flushedNow = 0, 0, 0
}

// begin starts a round with all that is there.
func (m *memtable) beginFlush() {
	m.flushing, m.flushed, m.noted = true, 0, 0
	m.to, m.gathered = max(m.to, m.newest), 0
	m.flush = make([]keyEntry, 0, len(m.entries))
	for name, seq := range m.entries {
		m.flush = append(m.flush, keyEntry{name, seq})
	}
	m.sort()
}

func (m *memtable) sort() {
	slices.SortFunc(m.flush, func(a, b keyEntry) int { return bytes.Compare(a.name[:], b.name[:]) })
}

// order is the beginning of a name as a number that sorts like it, as far as a
// fact can hold it.
func (n keyName) order() int64 { return int64(binary.BigEndian.Uint64(n[:]) >> 1) }

// loadKeys reads the names that are not in the table, and goes on with the round
// that was on.
func (c *writeConn) loadMemtable() error {
	k := c.memtable
	var until, moved int64
	for name, value := range map[string]*int64{"keys_to": &k.to, "keys_round": &until, "keys_moved": &moved} {
		if _, err := c.row(`SELECT value FROM facts WHERE name = +?1`, []any{name}, value); err != nil {
			return fmt.Errorf("reading the fact %s: %w", name, err)
		}
	}
	err := c.each(`SELECT dedupe, seq FROM events WHERE seq > ?1`, []any{k.to}, func(rows *sql.Rows) error {
		var name sql.RawBytes
		var seq int64
		err := rows.Scan(&name, &seq)
		if seq > until {
			k.gathered, k.newest = k.gathered+1, max(k.newest, seq)
		}
		if err == nil && len(name) == dedupeBytes {
			k.load(keyEntry{keyName(name), seq}, until, moved)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the newest keys: %w", err)
	}
	if k.flushing = until > 0; k.flushing {
		k.to = until
		k.sort()
	}
	return nil
}

// load takes one name in. What a round up to a place has moved is left out.
func (m *memtable) load(h keyEntry, until, moved int64) {
	if h.seq <= until && h.name.order() < moved {
		return
	}
	m.entries[h.name] = h.seq
	if h.seq <= until {
		m.flush = append(m.flush, h)
	}
}

// keyTable is how the table says which event has a name.
const keyTable = `SELECT seq FROM keys WHERE name = +?1`

// holder returns the place of the event that has a key. No name has none.
func (c *writeConn) keyOwner(name []byte) (seq int64, found bool, err error) {
	if name == nil {
		return 0, false, nil
	}
	if seq, found = c.memtable.owner(keyName(name)); found {
		return seq, true, nil
	}
	found, err = c.row(keyTable, []any{name}, &seq)
	return seq, found, err
}

// holder returns the place of the event that has a key now;
// [webhook.ErrNotFound] when none has.
func (s *Store) keyOwner(ctx context.Context, source, key string) (int64, error) {
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
	if seq, found := s.memtable.find(keyName(name)); found {
		return seq, nil
	}
	err = s.reads.row(ctx, keyTable, []any{name}, &seq)
	return seq, err
}

// hasRecent reports whether a key is held and not in the table yet.
func (c *writeConn) inMemtable(name []byte) bool {
	if name == nil {
		return false
	}
	_, found := c.memtable.owner(keyName(name))
	return found
}

// claim gives a key that nobody has to an event.
func (c *writeConn) setKey(name []byte, seq int64) error {
	switch {
	case name == nil:
		return nil
	case seq > c.memtable.to:
		c.memtable.changes[keyName(name)] = seq
		return nil
	}
	return c.writeKey(keyEntry{keyName(name), seq})
}

// tabulate writes a name into the table.
func (c *writeConn) writeKey(h keyEntry) error {
	const insert = `INSERT INTO keys (name, seq) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq`
	_, err := c.exec(insert, h.name[:], h.seq)
	return err
}

// release takes a key from an event, if that has it.
func (c *writeConn) deleteKey(name []byte, seq int64) error {
	if len(name) != dedupeBytes {
		return nil
	}
	if holder, found := c.memtable.owner(keyName(name)); found && holder == seq {
		c.memtable.changes[keyName(name)] = 0
	}
	_, err := c.exec(`DELETE FROM keys WHERE name = +?1 AND seq = +?2`, name, seq)
	return err
}

// moveKeys takes one step of a round. What has lost its name or given it on
// since the round began stays behind.
func (c *writeConn) flushKeys() error {
	k := c.memtable
	if !k.flushing {
		return nil
	}
	step := k.flush[k.flushed:min(k.flushed+k.flushStep+2*k.inserted, len(k.flush))]
	for _, h := range step {
		if seq, found := k.owner(h.name); !found || seq != h.seq {
			continue
		}
		if err := c.writeKey(h); err != nil {
			return fmt.Errorf("moving keys: %w", err)
		}
	}
	k.flushedNow = len(step)
	if err := c.noteFlush(step); err != nil {
		return fmt.Errorf("noting how far keys have moved: %w", err)
	}
	return nil
}

// noteRound notes how far a round has come: with its first step after a start,
// so that even short lives come to its end, then with each small part of it, and
// when it is over.
func (c *writeConn) noteFlush(step []keyEntry) error {
	k := c.memtable
	moved := k.flushed + k.flushedNow
	switch {
	case moved == len(k.flush):
		return c.setFacts(map[string]int64{"keys_to": k.to, "keys_round": 0, "keys_moved": 0})
	case k.flushed == 0, moved-k.noted >= k.noteEvery:
		k.noted = moved
		return c.setFacts(map[string]int64{"keys_round": k.to, "keys_moved": step[len(step)-1].name.order()})
	}
	return nil
}

func (c *writeConn) setFacts(facts map[string]int64) error {
	for name, value := range facts {
		if _, err := c.exec(setFact, name, value); err != nil {
			return err
		}
	}
	return nil
}
