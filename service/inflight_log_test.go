package service

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/webhook"
)

// openNotes opens the notes beside a database as a process that starts does.
func openNotes(t *testing.T, database string) *inFlightLog {
	t.Helper()
	d, err := openInFlightLog(database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.file.Close() })
	return d
}

func TestB13WhatIsOutIsKnownAfterACrash(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "weir.db")
	name := strings.Repeat("n", 40) // the longest there is
	first, second, third := webhook.ID{1}, webhook.ID{2}, webhook.ID{3}
	d := openNotes(t, database)
	d.Begin(first, name, 1)
	d.Begin(second, "app", 7)
	d.Begin(second, "other", 1)
	d.End(second, "other")
	d.Begin(third, "app", 2) // takes the slot that is free again
	d = openNotes(t, database)
	for _, want := range []struct {
		event       webhook.ID
		destination string
		number      int
	}{{first, name, 1}, {second, "app", 7}, {second, "other", 0}, {third, "app", 2}, {third, name, 0}} {
		if got := d.Unfinished(want.event, want.destination); got != want.number {
			t.Errorf("%v at %s: %d was lost, want %d", want.event, want.destination, got, want.number)
		}
	}
	d.Begin(first, name, 2)
	if got := openNotes(t, database).Unfinished(first, name); got != 2 {
		t.Errorf("after a second crash %d was lost, want 2", got)
	}
	if info, err := os.Stat(database + "-departures"); err != nil || info.Size() != 4*slotSize {
		t.Errorf("%v, %v; want a head and three slots", info, err)
	}
}

// TestTheInFlightLogSaysWhetherItIsComplete: after a killed process it is; after
// another boot, and where an attempt could not be noted, it is not.
func TestTheInFlightLogSaysWhetherItIsComplete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(d *inFlightLog)
		left   int
		all    bool
	}{
		"a killed process": {func(*inFlightLog) {}, 2, true},
		"another boot":     {func(d *inFlightLog) { d.writeHead("00000000-0000-0000-0000-000000000000") }, 2, false},
		"a file that cannot be written": {func(d *inFlightLog) {
			path := d.file.Name()
			d.file.Close()
			d.file, _ = os.Open(path) // for reading only
			d.Begin(webhook.ID{9}, "app", 1)
			d.file, _ = os.OpenFile(path, os.O_RDWR, 0)
			d.writeHead("")
		}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			database := filepath.Join(t.TempDir(), "weir.db")
			d := openNotes(t, database)
			if left, all := d.Left("app"); left != 0 || !all {
				t.Errorf("new: %d, %t", left, all)
			}
			d.Begin(webhook.ID{1}, "app", 1)
			d.Begin(webhook.ID{2}, "app", 3)
			d.Begin(webhook.ID{3}, "other", 1)
			c.damage(d)
			left, all := openNotes(t, database).Left("app")
			if left != c.left || all != c.all {
				t.Errorf("%d left, all %t; want %d, %t", left, all, c.left, c.all)
			}
		})
	}
}

func TestNotesThatAreNotNeededAreRemoved(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "weir.db")
	d := openNotes(t, database)
	d.Begin(webhook.ID{1}, "app", 1)
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	d = openNotes(t, database)
	if got := d.Unfinished(webhook.ID{1}, "app"); got != 1 {
		t.Errorf("%d is out, want 1", got)
	}
	d.End(webhook.ID{1}, "app")
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(database + "-departures"); !os.IsNotExist(err) {
		t.Errorf("%v, want no file", err)
	}
}

func FuzzDeparturesOfAnyFile(f *testing.F) {
	f.Add([]byte("short"))
	f.Add(bytes.Repeat([]byte{0xff}, 3*slotSize+1))
	f.Add(append(make([]byte, slotSize), bytes.Repeat([]byte{20}, slotSize)...))
	f.Fuzz(func(t *testing.T, text []byte) {
		database := filepath.Join(t.TempDir(), "weir.db")
		if err := os.WriteFile(database+"-departures", text, 0o600); err != nil {
			t.Fatal(err)
		}
		d := openNotes(t, database)
		d.Begin(webhook.ID{9}, "app", 4)
		again := openNotes(t, database)
		if got := again.Unfinished(webhook.ID{9}, "app"); got != 4 {
			t.Errorf("%d was lost, want 4", got)
		}
		for out, number := range d.lost {
			if got := again.Unfinished(out.event, out.destination); number < 0 || out != (departure{webhook.ID{9}, "app"}) && got != number {
				t.Errorf("%v: %d and then %d", out, number, got)
			}
		}
	})
}
