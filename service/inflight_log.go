package service

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"weir/webhook"
)

// inFlightLog is the dispatch.InFlightLog of this program: a file beside the
// database with one slot for each attempt that is out, behind a slot that says
// since which boot of the machine it is complete. What is written to a file
// outlives the process that is killed, so nothing is synced; after the loss of
// power it may be old or torn, and then it does not claim to be complete. A clean
// stop removes it.
type inFlightLog struct {
	file *os.File
	// complete says that the log, when it was opened, held every attempt that
	// was out; left counts them by destination.
	complete bool
	left     map[string]int

	// mu guards what is below, and is not held while the file is written: a
	// slot belongs to one attempt from when it is taken until it is free.
	mu   sync.Mutex
	at   map[departure]int64 // slots in use
	lost map[departure]int   // numbers
	free []int64
	next int64
}

// departure names what is out.
type departure struct {
	event       webhook.ID
	destination string
}

// A slot holds the event's id, the attempt's number, and the length and the
// bytes of the destination's name. The first slot is the head: a mark, and the
// boot id of the machine that wrote it, or zeros when an attempt could not be
// noted.
const (
	headMark   = "weirlog1"
	slotSize   = 64
	slotNumber = 16
	slotLength = 20
	slotName   = 21
	// maxSlots bounds what is read after a crash.
	maxSlots = 1 << 16
)

// openInFlightLog opens the log beside a database, in the file of its name with
// "-departures" behind it, and reads what a crash has left there.
func openInFlightLog(database string) (*inFlightLog, error) {
	file, err := os.OpenFile(database+"-departures", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the in-flight log: %w", err)
	}
	d := &inFlightLog{file: file, left: map[string]int{}, at: map[departure]int64{}, lost: map[departure]int{}}
	text, err := io.ReadAll(io.NewSectionReader(file, 0, maxSlots*slotSize))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the in-flight log: %w", err), file.Close())
	}
	boot := bootID()
	if len(text) == 0 {
		d.complete = true // nothing was ever noted
	}
	if len(text) >= slotSize && string(text[:len(headMark)]) == headMark {
		d.complete = boot != "" && strings.HasPrefix(string(text[len(headMark):]), boot)
		text = text[slotSize:]
	}
	for ; len(text) >= slotSize; text = text[slotSize:] {
		d.readSlot(text[:slotSize])
	}
	for out := range d.lost {
		d.left[out.destination]++
	}
	if err := d.rewrite(boot); err != nil {
		return nil, errors.Join(fmt.Errorf("write the in-flight log: %w", err), file.Close())
	}
	return d, nil
}

// bootID names this boot of the machine (random(4)); "" where the system does not
// tell.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(text)); err == nil && len(id) == 36 {
		return id
	}
	return ""
}

// rewrite writes the head and what a crash has left.
func (d *inFlightLog) rewrite(boot string) error {
	d.writeHead(boot)
	for out, place := range d.at {
		d.writeSlot(out, d.lost[out], place)
	}
	return d.file.Truncate((1 + d.next) * slotSize)
}

// writeHead writes the head. Without a boot id the log does not claim to be
// complete; what cannot be written does not either.
func (d *inFlightLog) writeHead(boot string) {
	head := make([]byte, slotSize)
	copy(head, headMark)
	copy(head[len(headMark):], boot)
	_, _ = d.file.WriteAt(head, 0)
}

// writeSlot notes an attempt in a slot. The head has the place before the first.
func (d *inFlightLog) writeSlot(out departure, number int, place int64) {
	slot := make([]byte, slotSize)
	copy(slot, out.event[:])
	binary.BigEndian.PutUint32(slot[slotNumber:], uint32(number))
	slot[slotLength] = byte(copy(slot[slotName:], out.destination))
	if _, err := d.file.WriteAt(slot, (1+place)*slotSize); err != nil {
		d.writeHead("") // overwrites what is there, so that it needs no room
	}
}

// readSlot takes in the next slot, or leaves it free where it holds nothing
// that makes sense.
func (d *inFlightLog) readSlot(slot []byte) {
	place := d.next
	d.next++
	length := int(slot[slotLength])
	if length == 0 || slotName+length > slotSize {
		d.free = append(d.free, place)
		return
	}
	out := departure{webhook.ID(slot[:slotNumber]), string(slot[slotName : slotName+length])}
	d.at[out] = place
	d.lost[out] = max(d.lost[out], int(binary.BigEndian.Uint32(slot[slotNumber:])&0x7fff_ffff))
}

// Begin implements [dispatch.InFlightLog]. Where the volume is full nothing is
// noted, and the log does not claim to be complete any more.
func (d *inFlightLog) Begin(event webhook.ID, destination string, number int) {
	out := departure{event, destination}
	d.writeSlot(out, number, d.place(out))
}

// place finds the slot of what is out, or gives it one.
func (d *inFlightLog) place(out departure) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if place, ok := d.at[out]; ok {
		return place
	}
	place := d.next
	if last := len(d.free) - 1; last >= 0 {
		place, d.free = d.free[last], d.free[:last]
	} else {
		d.next++
	}
	d.at[out] = place
	return place
}

// End implements dispatch.InFlightLog.
func (d *inFlightLog) End(event webhook.ID, destination string) {
	out := departure{event, destination}
	d.mu.Lock()
	delete(d.lost, out)
	place, ok := d.at[out]
	d.mu.Unlock()
	if !ok {
		return
	}
	_, _ = d.file.WriteAt(make([]byte, slotSize), (1+place)*slotSize)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.at, out)
	d.free = append(d.free, place)
}

// Unfinished implements dispatch.InFlightLog.
func (d *inFlightLog) Unfinished(event webhook.ID, destination string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost[departure{event, destination}]
}

// Left implements [dispatch.InFlightLog].
func (d *inFlightLog) Left(destination string) (attempts int, all bool) {
	return d.left[destination], d.complete
}

// close closes the log. What is still in it is what the store does not know of;
// an empty file is removed.
func (d *inFlightLog) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.file.Close()
	if len(d.at) > 0 {
		return err
	}
	if gone := os.Remove(d.file.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		return errors.Join(err, gone)
	}
	return err
}
