package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"weir/webhook"
)

// scanBudget bounds how many rows one page may look at where a filter has no
// index. A page that has used it up is short and has a cursor to go on with.
const scanBudget = 100_000

// A page that looks into bodies looks at no more than so many, and at so many bytes
// of them: about a tenth of a second, whatever is looked for.
const (
	bodyBudget  = 10_000
	bytesBudget = 8 << 20
)

// span is a range of seqs: from (inclusive) to (exclusive).
type span struct{ from, to int64 }

// newSpan is the span of a range of times. Zero times bound nothing.
func newSpan(since, until time.Time) span {
	s := span{0, math.MaxInt64}
	if !since.IsZero() {
		s.from = seqAt(millis(since))
	}
	if !until.IsZero() {
		s.to = seqAt(millis(until))
	}
	return s
}

// below cuts a span at a seq.
func (s span) below(to int64) span {
	s.to = min(s.to, to)
	return s
}

// condition is a piece of a WHERE clause; each ? in it stands for one of args.
type condition struct {
	text string
	args []any
}

// conditions must all hold.
type conditions []condition

// and returns the conditions with one more.
func (c conditions) and(text string, args ...any) conditions {
	return append(c[:len(c):len(c)], condition{text, args})
}

// clause writes the conditions out with numbered placeholders.
func (c conditions) clause() (string, []any) {
	var text strings.Builder
	var args []any
	for i, condition := range c {
		text.WriteString(map[bool]string{true: " WHERE ", false: " AND "}[i == 0])
		parts := strings.Split(condition.text, "?")
		text.WriteString(parts[0])
		for j, part := range parts[1:] {
			args = append(args, condition.args[j])
			fmt.Fprintf(&text, "?%d%s", len(args), part)
		}
	}
	return text.String(), args
}

// indexScan reads an index from the newest event to the oldest.
type indexScan struct {
	// along is the table and index that lead, join what is looked up for each
	// row; seq is the column that is scanned.
	along, join, seq string
	// fixed holds along the whole scan and is answered by the index; filter
	// has to look at each row.
	fixed, filter conditions
	within        span
	limit         int
	// bodies says that the filter looks into bodies.
	bodies bool
	// ties orders what has the same seq.
	ties string
}

// The indexes to scan.
const (
	alongEvents     = `events e`
	alongSource     = `events e INDEXED BY events_source`
	alongDeliveries = `deliveries d`
	alongUnfinished = `deliveries d INDEXED BY deliveries_open`
	joinEvents      = ` CROSS JOIN events e ON e.seq = d.seq`
	joinDeliveries  = ` CROSS JOIN deliveries d ON d.seq = e.seq`
)

// bounded returns the scan cut to the newest rows that the budget allows, where
// it has to look at each, and the seq below which nothing is read; 0
// when the scan goes to the end.
func (tx readTx) bounded(w indexScan) (indexScan, int64, error) {
	if len(w.filter) == 0 {
		return w, 0, nil
	}
	where, args := w.fixed.and(w.seq+` >= ?`, w.within.from).and(w.seq+` < ?`, w.within.to).clause()
	text := fmt.Sprintf(`SELECT %s FROM %s%s ORDER BY %s DESC LIMIT 1 OFFSET %d`,
		w.seq, w.along, where, w.seq, tx.budget)
	if w.bodies {
		text = fmt.Sprintf(`SELECT seq FROM (
				SELECT seq, sum(size) OVER (ORDER BY seq DESC) AS total, row_number() OVER (ORDER BY seq DESC) AS n
				FROM (SELECT %s AS seq, e.size AS size FROM %s%s%s ORDER BY %s DESC LIMIT %d)
			) WHERE total > %d OR n > %d ORDER BY seq DESC LIMIT 1`,
			w.seq, w.along, w.join, where, w.seq, min(tx.budget, bodyBudget)+1, bytesBudget, min(tx.budget, bodyBudget))
	}
	var last int64
	err := tx.row(text, args, &last)
	if errors.Is(err, webhook.ErrNotFound) {
		return w, 0, nil
	}
	// All of one seq is read or none of it; of the uppermost, all.
	w.within.from = min(last+1, w.within.to-1)
	return w, w.within.from, err
}

// scan reads columns of at most limit rows, newest first, and returns the seq
// below which it has not read.
func (tx readTx) scan(w indexScan, columns string, scan func(*sql.Rows) error) (rest int64, err error) {
	w, rest, err = tx.bounded(w)
	if err != nil {
		return 0, err
	}
	text, args := w.query(columns)
	return rest, tx.each(text, args, scan)
}

func (scan indexScan) query(columns string) (text string, args []any) {
	all := scan.fixed.and(scan.seq+` >= ?`, scan.within.from).and(scan.seq+` < ?`, scan.within.to)
	where, args := append(all, scan.filter...).clause()
	return fmt.Sprintf(`SELECT %s FROM %s%s%s ORDER BY %s DESC%s LIMIT %d`,
		columns, scan.along, scan.join, where, scan.seq, scan.ties, scan.limit), args
}

// unfinishedScans returns a scan for each destination that has deliveries in an
// unfinished state, or for the one that is asked for.
func (tx readTx) unfinishedScans(base indexScan, after cursor, state webhook.State, destination string) ([]indexScan, error) {
	destinations := []string{destination}
	if destination == "" {
		var err error
		if destinations, err = tx.names(unfinishedDestinations, string(state)); err != nil {
			return nil, err
		}
	}
	base.along, base.join, base.seq = alongUnfinished, joinEvents, `d.seq`
	scans := make([]indexScan, len(destinations))
	for i, name := range destinations {
		w := base
		w.fixed = base.fixed.and(`d.state = +?`, string(state)).and(`d.state <> 'delivered'`).
			and(`d.destination = +?`, name)
		w.within = base.within.below(after.ceiling(name))
		scans[i] = w
	}
	return scans, nil
}

// These step from one name to the next in an index.
const (
	unfinishedDestinations = `WITH RECURSIVE step(name) AS (
			SELECT min(destination) FROM deliveries INDEXED BY deliveries_open
				WHERE state = +?1 AND state <> 'delivered'
			UNION ALL
			SELECT (SELECT min(destination) FROM deliveries INDEXED BY deliveries_open
				WHERE state = +?1 AND state <> 'delivered' AND destination > step.name)
			FROM step WHERE step.name IS NOT NULL
		) SELECT name FROM step WHERE name IS NOT NULL`

	allSources = `WITH RECURSIVE step(name) AS (
			SELECT min(source) FROM events
			UNION ALL
			SELECT (SELECT min(source) FROM events WHERE source > step.name)
			FROM step WHERE step.name IS NOT NULL
		) SELECT name FROM step WHERE name IS NOT NULL`
)

// names reads a list of texts.
func (tx readTx) names(text string, args ...any) ([]string, error) {
	var list []string
	err := tx.each(text, args, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		list = append(list, name)
		return err
	})
	return list, err
}

// pageLimit brings a limit into the bounds of a page.
func pageLimit(limit int) int {
	if limit <= 0 {
		return webhook.DefaultPage
	}
	return min(limit, webhook.MaxPage)
}
