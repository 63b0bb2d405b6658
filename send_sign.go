package main

import (
	"time"

	"weir/signature"
)

// sampleFor returns a sample event of a source, signed as its provider would.
func sampleFor(v *signature.Verifier, id string, now time.Time) (signature.Request, error) {
	return v.Sign(v.Sample(id, now), id, now)
}
