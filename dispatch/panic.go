package dispatch

import (
	"fmt"
	"runtime"
)

// panicText says what a panic was. Its value may quote a body, so that only
// faults of the runtime are told in words, and of others the type.
func panicText(fault any) string {
	if err, ok := fault.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", fault)
}
