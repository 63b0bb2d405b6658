package cli

import (
	"context"
	"fmt"
	"runtime"
)

// versionCommand prints one line.
func versionCommand(_ context.Context, w Env, args []string) error {
	if len(args) > 0 {
		return usagef("weir version takes no arguments")
	}
	_, err := fmt.Fprintln(w.Stdout, versionLine(w))
	return err
}

// versionLine tells version, commit, date, Go release and platform.
func versionLine(w Env) string {
	line := "weir " + w.Version
	if w.Commit != "" {
		line += ", commit " + w.Commit
	}
	if w.Date != "" {
		line += ", of " + w.Date
	}
	return fmt.Sprintf("%s, %s %s/%s", line, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
