//go:build !cgo || !linux

package sqlite

// returnFreedMemory has nothing to do here.
func returnFreedMemory() {}
