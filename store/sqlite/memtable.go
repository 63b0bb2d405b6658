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
	// flushSize is how many events gather before their keys are flushed.
	flushSize = 1 << 15
	// flushNoteEvery is the number of flushed keys after which the progress of
	// a flush is stored.
	flushNoteEvery = 64
	// flushStep is how many keys are flushed in one transaction, and two more
	// for each event that it inserts: so a flush ends long before the next is
	// due, and no transaction is much longer than others.
	flushStep = 16
)

// keyName is the hash of a source and a key.
type keyName [dedupeBytes]byte

// keyEntry says which event owns a key.
type keyEntry struct {
	name keyName
	seq  int64
}

// memtable says which event owns each of the newest keys. Names are random, so
// that an index of them costs a page for each new event, which is most of what
// intake would write to a store that holds many. The newest names are therefore
// kept in memory, flushSize of them or a little more, and are flushed to the
// table keys together, sorted: then one page takes many of them.
//
// The event's row has its name, too, so nothing is lost in a crash: a start reads
// the names of the events behind the seq in the fact keys_to. A flush writes all
// names up to another seq, which becomes keys_to when the flush is complete. Its
// progress is stored (facts keys_round and keys_moved), so that it goes on after
// a restart. An event that comes late, before that seq, is written to the table
// at once.
//
// Only the writer changes the memtable, and only the writer sees the changes of a
// transaction that is not committed. Readers look here, then in the table, and
// wait for nobody. When a key is reassigned to another event, readers see it here
// from before the commit on, so that the key has an owner at any moment.
type memtable struct {
	// mu guards entries and reassigned against readers. reassigned are the
	// names that change their owner in this transaction, with the old owner.
	mu         sync.RWMutex
	entries    map[keyName]int64
	reassigned map[keyName]int64

	// to is the seq behind which events are added to entries; gathered counts
	// the events there, with a key or without, and newest is the seq of the
	// last one.
	to, newest int64
	gathered   int
	// These are the constants of the same names; tests make them smaller.
	flushSize, flushStep, noteEvery int

	// flushing says that a flush is in progress; flush are its names, sorted,
	// flushed is how many are in the table, and noted the last stored progress.
	flushing       bool
	flush          []keyEntry
	flushed, noted int

	// The rest belongs to the current transaction: the names that it assigns
	// to an event, or removes (0); the number of its events and the last seq;
	// and how many names it flushes.
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

// find returns the committed owner of a name. Any goroutine may call it.
func (m *memtable) find(name keyName) (seq int64, found bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if seq, found = m.entries[name]; !found {
		seq, found = m.reassigned[name]
	}
	return seq, found
}

// reassign keeps the owner of a name visible to readers during the transaction
// that assigns the name to another event.
func (m *memtable) reassign(e keyEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reassigned[e.name] = e.seq
}

// owner is find for the writer, with the changes of its transaction.
func (m *memtable) owner(name keyName) (seq int64, found bool) {
	if seq, changed := m.changes[name]; changed {
		return seq, seq != 0
	}
	seq, found = m.entries[name]
	return seq, found
}

// countInsert counts an event of the current transaction.
func (m *memtable) countInsert(seq int64) {
	if seq > m.to {
		m.inserted++
		m.last = max(m.last, seq)
	}
}

// committed makes the changes of a transaction final, and begins a flush when
// enough has gathered: only what is committed may be flushed.
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

// publish shows readers the changes, and removes what is now in the table.
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
	for _, e := range m.flush[m.flushed : m.flushed+m.flushedNow] {
		if m.entries[e.name] == e.seq {
			delete(m.entries, e.name)
		}
	}
	clear(m.reassigned)
}

// rolledBack discards the changes of a transaction.
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

// beginFlush begins a flush of all entries.
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

// order is the first 63 bits of a name, as a number that sorts like the name and
// that a fact can hold.
func (n keyName) order() int64 { return int64(binary.BigEndian.Uint64(n[:]) >> 1) }

// loadMemtable reads the names that are not in the table, and continues a flush
// that was in progress.
func (c *writeConn) loadMemtable() error {
	m := c.memtable
	var until, moved int64
	for name, value := range map[string]*int64{"keys_to": &m.to, "keys_round": &until, "keys_moved": &moved} {
		if _, err := c.row(`SELECT value FROM facts WHERE name = +?1`, []any{name}, value); err != nil {
			return fmt.Errorf("reading the fact %s: %w", name, err)
		}
	}
	err := c.each(`SELECT dedupe, seq FROM events WHERE seq > ?1`, []any{m.to}, func(rows *sql.Rows) error {
		var name sql.RawBytes
		var seq int64
		err := rows.Scan(&name, &seq)
		if seq > until {
			m.gathered, m.newest = m.gathered+1, max(m.newest, seq)
		}
		if err == nil && len(name) == dedupeBytes {
			m.load(keyEntry{keyName(name), seq}, until, moved)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the newest keys: %w", err)
	}
	if m.flushing = until > 0; m.flushing {
		m.to = until
		m.sort()
	}
	return nil
}

// load adds one name, unless the flush up to a seq has written it already.
func (m *memtable) load(e keyEntry, until, moved int64) {
	if e.seq <= until && e.name.order() < moved {
		return
	}
	m.entries[e.name] = e.seq
	if e.seq <= until {
		m.flush = append(m.flush, e)
	}
}

// keyTable reads the owner of a name from the table.
const keyTable = `SELECT seq FROM keys WHERE name = +?1`

// keyOwner returns the seq of the event that owns a key. A nil name has no owner.
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

// keyOwner returns the seq of the event that owns a key;
// [webhook.ErrNotFound] when none does.
func (s *Store) keyOwner(ctx context.Context, source, key string) (int64, error) {
	name, _ := dedupeNames(source, key, [sha256.Size]byte{})
	seq, err := s.lookUp(ctx, name)
	if errors.Is(err, webhook.ErrNotFound) {
		// It may have been removed from the table between the two queries; then
		// it is in memory now.
		return s.lookUp(ctx, name)
	}
	return seq, err
}

// lookUp reads the owner of a name from memory, then from the table.
func (s *Store) lookUp(ctx context.Context, name []byte) (seq int64, err error) {
	if seq, found := s.memtable.find(keyName(name)); found {
		return seq, nil
	}
	err = s.reads.row(ctx, keyTable, []any{name}, &seq)
	return seq, err
}

// inMemtable reports whether a key has an owner and is not in the table yet.
func (c *writeConn) inMemtable(name []byte) bool {
	if name == nil {
		return false
	}
	_, found := c.memtable.owner(keyName(name))
	return found
}

// setKey assigns a key without an owner to an event.
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

// writeKey writes a name to the table.
func (c *writeConn) writeKey(e keyEntry) error {
	const insert = `INSERT INTO keys (name, seq) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq`
	_, err := c.exec(insert, e.name[:], e.seq)
	return err
}

// deleteKey removes a key from an event, if the event owns it.
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

// flushKeys takes one step of a flush. It skips names that were removed or
// reassigned since the flush began.
func (c *writeConn) flushKeys() error {
	m := c.memtable
	if !m.flushing {
		return nil
	}
	step := m.flush[m.flushed:min(m.flushed+m.flushStep+2*m.inserted, len(m.flush))]
	for _, e := range step {
		if seq, found := m.owner(e.name); !found || seq != e.seq {
			continue
		}
		if err := c.writeKey(e); err != nil {
			return fmt.Errorf("flushing keys: %w", err)
		}
	}
	m.flushedNow = len(step)
	if err := c.noteFlush(step); err != nil {
		return fmt.Errorf("storing the progress of the flush: %w", err)
	}
	return nil
}

// noteFlush stores the progress of a flush: with its first step after a start, so
// that a flush ends even if every process lives only briefly, then after every
// noteEvery keys, and when it is complete.
func (c *writeConn) noteFlush(step []keyEntry) error {
	m := c.memtable
	moved := m.flushed + m.flushedNow
	switch {
	case moved == len(m.flush):
		return c.setFacts(map[string]int64{"keys_to": m.to, "keys_round": 0, "keys_moved": 0})
	case m.flushed == 0, moved-m.noted >= m.noteEvery:
		m.noted = moved
		return c.setFacts(map[string]int64{"keys_round": m.to, "keys_moved": step[len(step)-1].name.order()})
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
