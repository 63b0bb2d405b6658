package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"weir/cli"
	"weir/store/sqlite"
	"weir/webhook"
)

// breakage makes the store of a running service refuse writes, and returns
// what ends that.
type breakage func(t *testing.T, s *service) (mend func())

// lockForWriting takes the lock that SQLite's writers take, as another
// connection would: byte 120 of the shared-memory file (file format of the
// write-ahead log, section 2.3.1).
func lockForWriting(t *testing.T, s *service) func() {
	t.Helper()
	file, err := os.OpenFile(s.database+"-shm", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 120, Len: 1}
	await(t, patience, "the write lock is free", func() bool {
		return syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &lock) == nil
	})
	return func() { file.Close() }
}

// forbidGrowth lets every write of the process to a file fail.
func forbidGrowth(t *testing.T, s *service) func() {
	t.Helper()
	var before syscall.Rlimit
	limit := syscall.Rlimit{Cur: 1}
	pid := s.running.command.Process.Pid
	if err := fileSizeLimit(pid, nil, &before); err != nil {
		t.Fatal(err)
	}
	limit.Max = before.Max
	if err := fileSizeLimit(pid, &limit, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := fileSizeLimit(pid, &before, nil); err != nil {
			t.Error(err)
		}
	}
}

// fileSizeLimit sets and reads how large the files of a process may become.
func fileSizeLimit(pid int, limit, before *syscall.Rlimit) error {
	const fileSize = 1 // RLIMIT_FSIZE
	_, _, fault := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), fileSize,
		uintptr(unsafe.Pointer(limit)), uintptr(unsafe.Pointer(before)), 0, 0)
	if fault != 0 {
		return fmt.Errorf("prlimit of %d: %w", pid, fault)
	}
	return nil
}

// fillVolume leaves no byte free on the volume of the store.
func fillVolume(t *testing.T, s *service) func() {
	t.Helper()
	file, err := os.CreateTemp(filepath.Dir(s.database), "filler")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, size := range []int{1 << 20, 4096, 1} {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
	}
	return func() { os.Remove(file.Name()) }
}

// smallVolume mounts a volume of its own for a service, where that is
// permitted.
func smallVolume(t *testing.T, s *service) error {
	t.Helper()
	folder := filepath.Join(s.folder, "volume")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4m"); err != nil {
		return err
	}
	t.Cleanup(func() {
		if s.running != nil {
			s.kill()
		}
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	s.database = filepath.Join(folder, "weir.db")
	return nil
}

// refusedThenAccepted checks that an event is answered 503 while the store
// does not work, and accepted afterwards, without a restart.
func refusedThenAccepted(t *testing.T, s *service, sink *downstream, broken breakage) {
	t.Helper()
	const body = `{"wanted":true}`
	s.awaitState(s.send("before", "{}"), "delivered")
	mend := broken(t, s)
	for range 2 {
		a, err := s.post("github", "k", body)
		wait, _ := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil || a.status != 503 || wait < 1 {
			t.Errorf("without a store: %d, Retry-After %q, %v; want 503 and at least 1", a.status, a.header.Get("Retry-After"), err)
		}
	}
	if status := s.ask("/readyz"); status != 503 {
		t.Errorf("/readyz answers %d without a store, want 503", status)
	}
	mend()
	a, err := s.post("github", "k", body)
	if err != nil || a.status != 200 || a.receipt.Duplicate {
		t.Fatalf("with the store back: %d %s, %v; want 200 and new", a.status, a.text, err)
	}
	s.awaitState(a.receipt.ID, "delivered")
	sameBody(t, sink.of(a.receipt.ID), body)
	if status := s.ask("/readyz"); status != 200 || s.running.over() {
		t.Errorf("/readyz answers %d with the store back, want 200 from the same process", status)
	}
}

func TestB1WhatCannotBeStoredIsRefused(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]breakage{"locked": lockForWriting, "every write fails": forbidGrowth} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sink := newDownstream(t, answers(200))
			refusedThenAccepted(t, started(t, sink.url), sink, broken)
		})
	}
	t.Run("volume full", func(t *testing.T) {
		t.Parallel()
		sink := newDownstream(t, answers(200))
		s := newService(t, sink.url, "WEIR_MAX_DATABASE=1GiB")
		broken := fillVolume
		if err := smallVolume(t, s); err != nil {
			t.Logf("no volume can be mounted here (%v): writes are made to fail in another way", err)
			broken = forbidGrowth
		}
		s.start()
		refusedThenAccepted(t, s, sink, broken)
	})
}

func TestB1AtItsCapTheStoreRefusesUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_MAX_DATABASE=2MiB")
	s.operate("POST", "/v1/destinations/default/pause", nil)
	body := strings.Repeat("x", 100_000)
	var stored []string
	for i := 0; ; i++ {
		a, err := s.post("github", fmt.Sprint("k", i), body)
		if err != nil || a.status != 200 && a.status != 503 || i == 100 {
			t.Fatalf("event %d: %d, %v", i, a.status, err)
		}
		if a.status == 503 {
			break
		}
		stored = append(stored, a.receipt.ID)
	}
	s.operate("POST", "/v1/destinations/default/resume", nil)
	for _, id := range stored {
		await(t, 30*time.Second, id+" has arrived", func() bool { return len(sink.of(id)) == 1 })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := s.sendUntil(ctx, "k-later", body); err != nil {
		t.Errorf("with all delivered there is room again: %v", err)
	}
}

func TestB62WhatWasAnswered2xxSurvivesTenKills(t *testing.T) {
	t.Parallel()
	const events, perSecond, kills = 500, 50, 10
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_DESTINATION_DEFAULT_CONCURRENCY=16", "WEIR_DESTINATION_DEFAULT_RETRY_BUDGET=1000/1m")
	storm := newSteadySenders(t, s, events, perSecond)
	for i := range kills {
		await(t, 60*time.Second, "more is accepted", func() bool { return storm.accepted() >= (i+1)*events/(kills+1) })
		s.kill()
		s.start()
	}
	storm.end(t)
	ids := storm.ids()
	for id, body := range ids {
		await(t, 60*time.Second, id+" has arrived", func() bool { return len(sink.of(id)) > 0 })
		sameBody(t, sink.of(id), body)
	}
	s.stop()
	wantSound(t, s.database, slices.Collect(maps.Keys(ids)))
	t.Logf("%d events, %d kills, %d requests", len(ids), kills, len(sink.seen()))
}

// steadySenders send a stream of events, each until it is accepted.
type steadySenders struct {
	running sync.WaitGroup
	events  int
	mu      sync.Mutex
	bodies  map[string]string // by event id
	faults  []error
}

func newSteadySenders(t *testing.T, s *service, events, perSecond int) *steadySenders {
	storm := &steadySenders{events: events, bodies: map[string]string{}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(func() { cancel(); storm.running.Wait() })
	storm.running.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for i := range events {
			storm.running.Go(func() { storm.send(ctx, s, i) })
			<-tick.C
		}
	})
	return storm
}

func (storm *steadySenders) send(ctx context.Context, s *service, number int) {
	body := fmt.Sprintf(`{"number":%d}`, number)
	id, err := s.sendUntil(ctx, fmt.Sprint("storm-", number), body)
	storm.mu.Lock()
	defer storm.mu.Unlock()
	if err != nil {
		storm.faults = append(storm.faults, err)
		return
	}
	storm.bodies[id] = body
}

// accepted returns how many events were answered 2xx.
func (storm *steadySenders) accepted() int {
	storm.mu.Lock()
	defer storm.mu.Unlock()
	return len(storm.bodies)
}

// end waits until every event is accepted.
func (storm *steadySenders) end(t *testing.T) {
	t.Helper()
	storm.running.Wait()
	if got := storm.accepted(); got != storm.events || len(storm.faults) > 0 {
		t.Fatalf("%d events of %d are accepted, faults %v", got, storm.events, storm.faults)
	}
}

// ids returns what was accepted, with the bodies.
func (storm *steadySenders) ids() map[string]string {
	storm.mu.Lock()
	defer storm.mu.Unlock()
	return maps.Clone(storm.bodies)
}

// wantSound checks a database that no process has open: it is whole and has
// these events.
func wantSound(t *testing.T, path string, ids []string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.WithoutCancel(t.Context()))
	if err := store.CheckIntegrity(t.Context()); err != nil {
		t.Error(err)
	}
	for _, text := range ids {
		id, err := webhook.ParseID(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Event(t.Context(), id); err != nil {
			t.Errorf("event %s: %v", id, err)
		}
	}
}

func TestB64AZoneChangesNothing(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, func(w http.ResponseWriter, _ *http.Request, a arrival) {
		if a.number == 1 {
			w.Header().Set("Retry-After", "4")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s := newService(t, sink.url, "ZONEINFO="+zoneFile(t))
	var id string
	var before shownEvent
	var held shownHold
	for i, zone := range []string{"America/Los_Angeles", "Asia/Kathmandu", "UTC"} {
		s.set("TZ=" + zone)
		s.said = &output{}
		s.start()
		wantUniversalTime(t, s.said.String(), zone)
		if i == 0 {
			id = s.send("k", "{}")
			await(t, patience, "the destination is held", func() bool { return s.destination("default").Hold != nil })
			before, held = s.event(id), *s.destination("default").Hold
		}
		after, still := s.event(id), s.destination("default").Hold
		if !strings.HasSuffix(after.ReceivedAt, "Z") || after.ReceivedAt != before.ReceivedAt {
			t.Errorf("%s: received at %s, want %s", zone, after.ReceivedAt, before.ReceivedAt)
		}
		if len(sink.of(id)) == 1 && (still == nil || !still.Until.Equal(*held.Until) || still.Since != held.Since) {
			t.Errorf("%s: held %+v, want %+v", zone, still, held)
		}
		if again := s.send("k", "{}"); again != id {
			t.Errorf("%s: the repeat is a new event", zone)
		}
		if i < 2 {
			s.kill()
		}
	}
	s.awaitState(id, "delivered")
	if arrivals := sink.of(id); arrivals[1].at.Before(*held.Until) {
		t.Errorf("sent at %s, held until %s", arrivals[1].at, held.Until)
	}
}

// zoneFile finds the zones that come with Go, so that the test does not depend
// on the machine's.
func zoneFile(t *testing.T) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantUniversalTime checks that a log shows no times of a zone.
func wantUniversalTime(t *testing.T, log, zone string) {
	t.Helper()
	line, _, _ := strings.Cut(log, "\n")
	var first struct{ Time string }
	if err := json.Unmarshal([]byte(line), &first); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if at, err := time.Parse(time.RFC3339, first.Time); err != nil || !strings.HasSuffix(first.Time, "Z") || time.Since(at).Abs() > time.Hour {
		t.Errorf("in %s the log has the time %s, want that of UTC", zone, first.Time)
	}
}

func TestABackupOfARunningServiceStarts(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url)
	s.operate("POST", "/v1/destinations/default/pause", nil)
	storm := newSteadySenders(t, s, 100, 100)
	await(t, patience, "some are accepted", func() bool { return storm.accepted() >= 30 })
	acknowledged := slices.Collect(maps.Keys(storm.ids()))
	copied := filepath.Join(s.folder, "copy.db")
	if status, said := s.call("backup", copied); status != cli.ExitStopped {
		t.Fatalf("backup: status %d, %s", status, said)
	}
	if status, _ := s.call("backup", copied); status != cli.ExitFailure {
		t.Errorf("a second backup to the same path: status %d, want %d", status, cli.ExitFailure)
	}
	storm.end(t)
	s.stop()
	wantSound(t, copied, acknowledged)
	s.database = copied
	s.start()
	s.operate("POST", "/v1/destinations/default/resume", nil)
	for _, id := range acknowledged {
		await(t, 30*time.Second, id+" has arrived", func() bool { return len(sink.of(id)) > 0 })
	}
}

func TestASecondProcessOnOneDatabaseRefuses(t *testing.T) {
	t.Parallel()
	s := started(t, "http://127.0.0.1:9/")
	second := newService(t, "http://127.0.0.1:9/")
	second.database = s.database
	status := second.run("serve").exit(t, 10*time.Second)
	said := second.said.String()
	if status != cli.ExitFailure || !strings.Contains(said, s.database+".lock") ||
		!strings.Contains(said, fmt.Sprintf("pid %d", s.running.command.Process.Pid)) {
		t.Errorf("status %d and %q, want %d and the names of the lock and its holder", status, said, cli.ExitFailure)
	}
	s.send("still there", "{}")
}
