package main

import (
	"context"
	"fmt"
	"runtime"
)

// versionCommand prints one line.
func versionCommand(_ context.Context, w world, args []string) error {
	if len(args) > 0 {
		return usagef("weir version takes no arguments")
	}
	_, err := fmt.Fprintln(w.stdout, versionLine(w))
	return err
}

// versionLine tells version, commit, date, Go release and platform.
func versionLine(w world) string {
	line := "weir " + w.version
	if w.commit != "" {
		line += ", commit " + w.commit
	}
	if w.date != "" {
		line += ", of " + w.date
	}
	return fmt.Sprintf("%s, %s %s/%s", line, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
