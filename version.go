package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// What the linker may write with -X main.version=… and so on. They are never
// changed by the program.
var (
	version = ""
	commit  = ""
	date    = ""
)

// versionCommand prints one line.
func versionCommand(_ context.Context, w world, args []string) error {
	if len(args) > 0 {
		return usagef("weir version takes no arguments")
	}
	_, err := fmt.Fprintln(w.stdout, versionLine())
	return err
}

// versionLine tells version, commit, date, Go release and platform.
func versionLine() string {
	line := "weir " + buildVersion()
	if revision := buildCommit(); revision != "" {
		line += ", commit " + revision
	}
	if built := orSetting(date, "vcs.time"); built != "" {
		line += ", of " + built
	}
	return fmt.Sprintf("%s, %s %s/%s", line, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildVersion returns the version for User-Agent and metrics: the linker's,
// else the module's, else "devel".
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// buildCommit returns the revision, "" when it is not known.
func buildCommit() string { return orSetting(commit, "vcs.revision") }

// orSetting returns the linker's text, else what the go command recorded.
func orSetting(linked, key string) string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}
