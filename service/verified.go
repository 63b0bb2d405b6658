package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"time"

	"weir/ratelimit"
	"weir/webhook"
)

const (
	// verifiedSuffix is added to the name of the database for the file that keeps
	// which address blocks have sent verified events lately: after a restart a
	// stranger at a shared address must not silence a sender who proved itself
	// before. It is small, and nothing but this is lost with it.
	verifiedSuffix = "-verified"
	// verifiedMost bounds what is read of the file, in bytes.
	verifiedMost = 8 << 20
	// verifiedLook is how often new blocks are looked for, and verifiedRenew how
	// often the times of all are written.
	verifiedLook  = 10 * time.Second
	verifiedRenew = ratelimit.TrustFor / 6
)

// rememberVerified reads the file of the last run. One that cannot be read is
// logged and counts as empty.
func (svc *Service) rememberVerified() {
	blocks, err := readVerified(svc.store.Path() + verifiedSuffix)
	if err != nil {
		svc.log.Warn("which addresses were verified before is not known", webhook.LogError, err)
		return
	}
	svc.failures.Remember(blocks)
}

// saveVerified writes the file anew.
func (svc *Service) saveVerified() {
	if err := writeVerified(svc.store.Path()+verifiedSuffix, svc.failures.VerifiedBlocks()); err != nil {
		svc.log.Warn("which addresses were verified cannot be kept for the next start", webhook.LogError, err)
	}
}

// readVerified returns the blocks in a file, none where there is no file.
func readVerified(path string) (map[netip.Addr]time.Time, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read verified addresses: %w", err)
	}
	defer file.Close()
	var seconds map[netip.Addr]int64
	if err := json.NewDecoder(io.LimitReader(file, verifiedMost)).Decode(&seconds); err != nil {
		return nil, fmt.Errorf("read verified addresses: %w", err)
	}
	blocks := make(map[netip.Addr]time.Time, len(seconds))
	for block, at := range seconds {
		blocks[block] = time.Unix(at, 0)
	}
	return blocks, nil
}

// writeVerified replaces the file in one step: a crash leaves the old or the new.
func writeVerified(path string, blocks map[netip.Addr]time.Time) error {
	seconds := make(map[netip.Addr]int64, len(blocks))
	for block, at := range blocks {
		seconds[block] = at.Unix()
	}
	text, err := json.Marshal(seconds)
	if err != nil {
		return fmt.Errorf("write verified addresses: %w", err)
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return fmt.Errorf("write verified addresses: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write verified addresses: %w", err)
	}
	return nil
}

// keepVerified saves new blocks soon and the times of all now and then. Renewed is
// when the file was last written; it returns that time anew.
func (svc *Service) keepVerified(renewed, now time.Time) time.Time {
	if !svc.failures.VerifiedNew() && now.Sub(renewed) < verifiedRenew {
		return renewed
	}
	svc.saveVerified()
	return now
}
