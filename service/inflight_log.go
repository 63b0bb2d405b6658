package service

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"weir/webhook"
)

// inFlightLog is the dispatch.InFlightLog of this program: a file beside the
// database with one slot for each attempt that is out. What is written to a file
// outlives the process that is killed, so nothing is synced; after the loss of
// power it may be old or torn, which costs only the numbering. A clean stop
// removes it.
type inFlightLog struct {
	file *os.File

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
// bytes of the destination's name.
const (
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
	d := &inFlightLog{file: file, at: map[departure]int64{}, lost: map[departure]int{}}
	text, err := io.ReadAll(io.NewSectionReader(file, 0, maxSlots*slotSize))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the in-flight log: %w", err), file.Close())
	}
	for ; len(text) >= slotSize; text = text[slotSize:] {
		d.readSlot(text[:slotSize])
	}
	return d, nil
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

// Begin implements dispatch.InFlightLog. Where the volume is full nothing is
// noted.
func (d *inFlightLog) Begin(event webhook.ID, destination string, number int) {
	slot := make([]byte, slotSize)
	copy(slot, event[:])
	binary.BigEndian.PutUint32(slot[slotNumber:], uint32(number))
	slot[slotLength] = byte(copy(slot[slotName:], destination))
	_, _ = d.file.WriteAt(slot, d.place(departure{event, destination})*slotSize)
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
	_, _ = d.file.WriteAt(make([]byte, slotSize), place*slotSize)
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
