package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-sqlite3"

	"weir/webhook"
)

// randomTime has whole milliseconds, as stored ones do, and is sometimes zero.
func randomTime(r *rand.Rand) time.Time {
	if r.IntN(4) == 0 {
		return time.Time{}
	}
	return time.UnixMilli(r.Int64N(4e12)).UTC()
}

// scatter fills a value with random contents, whatever fields it has.
func scatter(r *rand.Rand, v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(randomTime(r)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			scatter(r, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(3), 4))
		for i := range v.Len() {
			scatter(r, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			scatter(r, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		scatter(r, v.Elem())
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		scatter(r, key)
		scatter(r, value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString([]string{"a", "ü\"\n", "longer text"}[r.IntN(3)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Uint64:
		v.SetUint(r.Uint64())
	case reflect.Uint8:
		v.SetUint(r.Uint64N(256))
	default:
		v.SetInt(1 + r.Int64N(1e9))
	}
}

func TestGatesComeBackWithEveryFieldThatADestinationHas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var want webhook.Destination
		scatter(r, reflect.ValueOf(&want).Elem())
		text, err := encodeGates(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeGates(text, webhook.Destination{Name: want.Name, Epoch: want.Epoch, Rev: want.Rev})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestTimesAreRoundedUpAndZeroStaysZero(t *testing.T) {
	kathmandu := time.FixedZone("+05:45", 5*3600+45*60)
	for _, c := range []struct{ in, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.UnixMilli(1), time.UnixMilli(1)},
		{time.UnixMilli(1).Add(1), time.UnixMilli(2)},
		{time.UnixMilli(-1).Add(-1), time.UnixMilli(-1)},
		{time.Date(2026, 11, 1, 1, 30, 0, 0, kathmandu), time.Date(2026, 10, 31, 19, 45, 0, 0, time.UTC)},
	} {
		if got := timeAt(millis(c.in)); !got.Equal(c.want) || got.Location() != time.UTC {
			t.Errorf("%v comes back as %v, want %v", c.in, got, c.want)
		}
	}
	if !timeAt(millis(time.Time{})).IsZero() {
		t.Error("the zero time is not zero any more")
	}
}

func TestPlacesAreInTheOrderOfTimeAndNeverOverflow(t *testing.T) {
	ordered := func(a, b int64) bool {
		pa, pb := seqAt(a), seqAt(b)
		return pa >= 0 && pb >= 0 && (a > b || pa <= pb)
	}
	if err := quick.Check(ordered, nil); err != nil {
		t.Error(err)
	}
	s := writeConn{counter: counterMask - 2}
	seen := map[int64]bool{}
	for range 10 {
		p := s.nextSeq(1000)
		if seen[p] || p < seqAt(1000) || p >= seqAt(1001) {
			t.Errorf("place %d is taken or not within its millisecond", p)
		}
		seen[p] = true
	}
	if p := seqAt(math.MaxInt64); p+counterMask < p {
		t.Error("the last place overflows")
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeHeader(nil))
	f.Add(encodeHeader(http.Header{"A": {"1", ""}, "B": nil, "": {"\xff"}}))
	f.Add([]byte{1, 1, 'A', 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		header, err := decodeHeader(encoded)
		if err != nil {
			return
		}
		again, err := decodeHeader(encodeHeader(header))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(header, again); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("", byte(eventList))
	f.Add(cursor{seq: 1}.text(eventList), byte(eventList))
	f.Add(cursor{seq: 1}.text(deliveryList), byte(deliveryList))
	f.Add(cursor{math.MaxInt64 - 1, "app"}.text(deliveryList), byte(deliveryList))
	f.Add("AWUAAAAAAAAAAQ==", byte(eventList))
	f.Fuzz(func(t *testing.T, text string, list byte) {
		c, err := parseCursor(text, list)
		if err != nil {
			if !errors.Is(err, webhook.ErrCursor) {
				t.Errorf("error %v", err)
			}
			return
		}
		if text != "" && c.text(list) != text {
			t.Errorf("%q means the same as %q", text, c.text(list))
		}
		if c.seq < 0 || c.ceiling("x") < 0 {
			t.Errorf("cursor %+v is out of bounds", c)
		}
	})
}

// plan is how SQLite would answer a query.
func plan(t *testing.T, store *Store, text string, args ...any) string {
	t.Helper()
	rows, err := store.reads.db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+text, args...)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	return strings.Join(steps, "\n")
}

func TestTheHotQueriesSearchAndNeitherScanNorSort(t *testing.T) {
	store, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "weir.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.WithoutCancel(t.Context()))
	for _, q := range []struct {
		text string
		args []any
	}{
		{firsts.due, []any{"app", 0, 1}}, {firsts.next, []any{"app", 0}},
		{newestFirsts.due, []any{"app", 0, 1}},
		{retries.due, []any{"app", 0, 1}}, {retries.next, []any{"app", 0}},
		{oldestAge, []any{"app"}},
		{expireCandidates, []any{"app", 0, 1}},
		{loadQuery, []any{[]byte{}, "app"}},
		{currentDeliveryQuery, []any{[]byte{}, "app"}},
		{selectExisting + `WHERE seq = +?1`, []any{0}}, {keyTable, []any{[]byte{}}},
		{newestOfSource, []any{"github"}},
		{payloadCandidates, []any{0, 1, 2, 3, 4}},
		{eventCandidates, []any{0, 1, 2}},
		{queueQuery, []any{"app", 0, 0, 0}}, {countedQuery, []any{"app", 0, 0, 0}},
	} {
		wantSearches(t, store, q.text, q.args...)
	}
}

// wantSearches checks that a query looks rows up and reads them in order. What
// has one place may be sorted.
func wantSearches(t *testing.T, store *Store, text string, args ...any) {
	t.Helper()
	for step := range strings.SplitSeq(plan(t, store, text, args...), "\n") {
		sorts := strings.Contains(step, "TEMP B-TREE") && !strings.HasSuffix(step, "FOR LAST TERM OF ORDER BY")
		if strings.HasPrefix(step, "SCAN") && step != "SCAN CONSTANT ROW" || sorts {
			t.Errorf("%q in\n%s", step, text)
		}
	}
}

func TestListsSearchAndNeitherScanNorSort(t *testing.T) {
	store, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "weir.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.WithoutCancel(t.Context()))
	now := time.Now()
	base := indexScan{within: newSpan(now, now), limit: 51}
	err = store.reads.readTx(t.Context(), func(tx readTx) error {
		for _, query := range []webhook.EventQuery{
			{}, {Source: "a"}, {State: webhook.Dead, Destination: "d"},
			{State: webhook.Dead, Destination: "d", Source: "a"}, {State: webhook.Delivered}, {Destination: "d", Source: "a"},
		} {
			scans, err := tx.eventScans(query, cursor{seq: 1}, base)
			if err != nil {
				return err
			}
			for _, w := range scans {
				text, args := w.query(w.seq)
				wantSearches(t, store, text, args...)
			}
		}
		for _, w := range scansByKey(webhook.EventQuery{State: webhook.Dead}, base, []int64{7}) {
			text, args := w.query(w.seq)
			wantSearches(t, store, text, args...)
		}
		for _, query := range []webhook.DeliveryQuery{
			{}, {Source: "a"}, {Destination: "d"}, {State: webhook.Dead, Destination: "d", Reason: webhook.DeadExpired},
			{State: webhook.Pending, Destination: "d", Source: "a", Due: webhook.DueNow}, {Only: []webhook.ID{{1}}},
		} {
			scans, err := tx.deliveryScans(query, cursor{1, "d"}, base)
			if err != nil {
				return err
			}
			for _, w := range scans {
				text, args := w.query(deliveryColumns)
				wantSearches(t, store, text, args...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMigrationsAreAppliedEachAsAWholeAndOnce(t *testing.T) {
	pool := newConnector(filepath.Join(t.TempDir(), "weir.db"), "rwc", shape, common, writing).open(1)
	defer pool.Close()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	files := fstest.MapFS{
		"migrations/0001_a.sql": {Data: []byte(`CREATE TABLE a (x); INSERT INTO a VALUES (1);`)},
		"migrations/0002_b.sql": {Data: []byte(`INSERT INTO a VALUES (2); CREATE TABLE a (y);`)},
	}
	steps := wantSteps(t, files, 2)
	if err := migrate(t.Context(), conn, steps); err == nil || !strings.Contains(err.Error(), "0002_b.sql") {
		t.Fatalf("error %v, want one that names the step", err)
	}
	files["migrations/0002_b.sql"].Data = []byte(`INSERT INTO a VALUES (3)`)
	for range 2 {
		if err := migrate(t.Context(), conn, wantSteps(t, files, 2)); err != nil {
			t.Fatal(err)
		}
	}
	var sum, version int
	err = conn.QueryRowContext(t.Context(), `SELECT (SELECT sum(x) FROM a), (SELECT max(version) FROM migrations)`).Scan(&sum, &version)
	if err != nil || sum != 4 || version != 2 {
		t.Errorf("sum %d at version %d (%v), want 4 at 2", sum, version, err)
	}
	if err := migrate(t.Context(), conn, steps[:1]); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("an older program gets %v", err)
	}
}

func wantSteps(t *testing.T, files fs.FS, n int) []migration {
	t.Helper()
	steps, err := loadMigrations(files)
	if err != nil || len(steps) != n {
		t.Fatalf("%d steps, %v; want %d", len(steps), err, n)
	}
	return steps
}

func TestMigrationsAreNumberedWithoutAGap(t *testing.T) {
	if _, err := loadMigrations(migrations); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"0002_b.sql", "x_b.sql", "b.sql"} {
		if _, err := loadMigrations(fstest.MapFS{"migrations/" + name: {}}); err == nil {
			t.Errorf("%s alone is taken", name)
		}
	}
}

func TestASettingThatIsNotInForceIsRefused(t *testing.T) {
	for _, wrong := range []pragma{
		{"synchronous", "NORMAL", "2"},
		{"journal_mode", "DELETE", "wal"},
		{"no_such_setting", "1", "1"},
	} {
		pool := newConnector(filepath.Join(t.TempDir(), "weir.db"), "rwc", shape, common, writing, []pragma{wrong}).open(1)
		if err := pool.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), wrong.name) {
			t.Errorf("%s: error %v, want one that names it", wrong.name, err)
		}
		pool.Close()
	}
}

func TestFaultsAreToldApart(t *testing.T) {
	for _, c := range []struct {
		err                         error
		rejection, transient, fatal bool
	}{
		{err: webhook.ErrFenced, rejection: true},
		{err: webhook.ErrFull, rejection: true},
		{err: sqlite3.Error{Code: sqlite3.ErrBusy}, transient: true},
		{err: sqlite3.Error{Code: sqlite3.ErrFull}, transient: true},
		{err: sqlite3.Error{Code: sqlite3.ErrIoErr}, transient: true},
		{err: sqlite3.Error{Code: sqlite3.ErrReadonly}, transient: true},
		{err: sqlite3.Error{Code: sqlite3.ErrCorrupt}, fatal: true},
		{err: sqlite3.Error{Code: sqlite3.ErrConstraint}},
		{err: errors.New("any other")},
	} {
		err := errors.Join(c.err)
		if rejection(err) != c.rejection || transient(err) != c.transient || fatal(err) != c.fatal {
			t.Errorf("%v: rejection %v, transient %v, fatal %v", c.err, rejection(err), transient(err), fatal(err))
		}
	}
}

func TestB63EveryFaultOfAPathHasARemedy(t *testing.T) {
	for err, want := range map[error]string{
		syscall.EROFS:  "mount it for writing",
		syscall.EACCES: "chown",
		syscall.EPERM:  "chown",
		syscall.ENOENT: "mount the volume",
		syscall.EISDIR: "name a file",
		syscall.ENOSPC: "free space",
		syscall.EIO:    "check the path",
	} {
		said := notUsable("database", "/data/weir.db", &fs.PathError{Op: "open", Path: "/data/weir.db", Err: err}).Error()
		if !strings.Contains(said, want) || !strings.Contains(said, "/data/weir.db") || !strings.Contains(said, "uid ") {
			t.Errorf("%q does not say %q, the path and the uid", said, want)
		}
	}
}

// TestTheMarkOfANewDatabaseIsThereBeforeIt: a start that is killed in between is
// repeated, and what it left is not taken for a database that lost its contents.
func TestTheMarkOfANewDatabaseIsThereBeforeIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	killed, err := lock(path)
	if err == nil {
		err = killed.lockDatabase(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	// A kill releases the locks and does nothing else.
	if err := errors.Join(killed.beside.Close(), killed.database.Close()); err != nil {
		t.Fatal(err)
	}
	if fileSize(path) != 0 {
		t.Fatal("there is a database already")
	}
	store, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestGatesOfATransactionThatFailsAreForgotten: neither does a later one write
// them, nor are they taken for stored.
func TestGatesOfATransactionThatFailsAreForgotten(t *testing.T) {
	store, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "weir.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.WithoutCancel(t.Context()))
	gates, err := store.Own(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	fail := func(gates webhook.Destination) {
		t.Helper()
		err := store.writer.do(t.Context(), 0, func(c *writeConn) error { return errors.Join(broken, c.keepGates(gates)) })
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
	gates.Rev, gates.Wins = 5, 5
	fail(gates)
	if err := store.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if gates, err = store.Own(t.Context(), "app"); err != nil || gates.Rev != 0 || gates.Wins != 0 {
		t.Fatalf("after the failure: %+v, %v", gates, err)
	}
	gates.Rev, gates.Wins = 5, 5
	fail(gates)
	gates.Wins = 6
	if err := store.Save(t.Context(), gates); err != nil {
		t.Fatal(err)
	}
	if owned, err := store.Own(t.Context(), "app"); err != nil || owned.Wins != 6 {
		t.Errorf("the same rev after a failure: %+v, %v", owned, err)
	}
}
