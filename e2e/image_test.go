package e2e

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// instruction is one of a Dockerfile, with continued lines joined.
type instruction struct{ name, args string }

// dockerfile returns the stages of the Dockerfile; each begins with its FROM.
func dockerfile(t *testing.T) [][]instruction {
	t.Helper()
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var stages [][]instruction
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	for line := range strings.Lines(joined) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, args, _ := strings.Cut(line, " ")
		if name == "FROM" {
			stages = append(stages, nil)
		}
		if len(stages) == 0 {
			t.Fatalf("%s before the first FROM", name)
		}
		last := len(stages) - 1
		stages[last] = append(stages[last], instruction{name, strings.Join(strings.Fields(args), " ")})
	}
	return stages
}

// argument returns what the last instruction of a name says.
func argument(stage []instruction, name string) string {
	for _, instruction := range slices.Backward(stage) {
		if instruction.name == name {
			return instruction.args
		}
	}
	return ""
}

func TestImageIsAlmostEmptyAndRunsUnprivileged(t *testing.T) {
	stages := dockerfile(t)
	final := stages[len(stages)-1]
	wants := map[string]string{
		"FROM":       `scratch`,
		"USER":       `65532:65532`,
		"ENTRYPOINT": `["/weir"]`,
		"CMD":        `["serve"]`,
		"STOPSIGNAL": `SIGTERM`,
		"ENV":        `WEIR_DATABASE=/data/weir.db SQLITE_TMPDIR=/data`,
	}
	for name, want := range wants {
		if got := argument(final, name); got != want {
			t.Errorf("%s %s, want %s", name, got, want)
		}
	}
	if check := argument(final, "HEALTHCHECK"); !strings.HasSuffix(check, `CMD ["/weir", "healthcheck"]`) {
		t.Errorf("HEALTHCHECK %s: there is no shell in the image", check)
	}
	copies := []instruction{
		{"COPY", "--from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt"},
		{"COPY", "--from=build --chown=65532:65532 /out/data /data"},
	}
	for _, want := range copies {
		if !slices.Contains(final, want) {
			t.Errorf("the image lacks %s %s", want.name, want.args)
		}
	}
}

func TestImageCompilesSQLiteBeforeItCopiesTheSource(t *testing.T) {
	build := dockerfile(t)[0]
	engine := slices.Index(build, instruction{"RUN", "go build github.com/mattn/go-sqlite3"})
	source := slices.Index(build, instruction{"COPY", ". ."})
	if engine < 0 || source < engine {
		t.Errorf("engine compiled at %d, source copied at %d: each change would compile it again", engine, source)
	}
}

// The program is built here as the Dockerfile builds it, by its own flags.
func TestImageProgramNeedsNothingFromItsImage(t *testing.T) {
	root := t.TempDir()
	program := filepath.Join(root, "weir")
	build := dockerfile(t)[0]
	flags := regexp.MustCompile(`GOFLAGS="([^"]+)"`).FindStringSubmatch(argument(build, "ENV"))
	linked := regexp.MustCompile(`go build -ldflags "([^"]+)" -o /out/weir`).FindStringSubmatch(argument(build, "RUN"))
	if flags == nil || linked == nil {
		t.Fatal("the Dockerfile has no GOFLAGS or no go build with -ldflags")
	}
	command := exec.CommandContext(t.Context(), "go", "build", "-ldflags", linked[1], "-o", program, "weir")
	command.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS="+flags[1])
	if out, err := command.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("building: %v\n%s", err, out)
	}
	if runtime.GOOS == "linux" {
		assertStatic(t, program)
	}
	assertRuns(t, root)
}

// assertStatic holds that a program asks for no loader and no library.
func assertStatic(t *testing.T, path string) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			t.Error("the program asks for a dynamic loader, and the image has none")
		}
	}
	if libraries, err := file.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("the program asks for %v", libraries)
	}
}

// assertRuns runs the program; as root in an otherwise empty file system and
// as the image's user, else where it stands.
func assertRuns(t *testing.T, root string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(root, "weir"), "version")
	if os.Getuid() == 0 {
		if err := os.Chmod(root, 0o755); err != nil {
			t.Fatal(err)
		}
		command.Path = "/weir"
		command.Dir = "/"
		command.SysProcAttr = &syscall.SysProcAttr{
			Chroot:     root,
			Credential: &syscall.Credential{Uid: 65532, Gid: 65532},
		}
	}
	// An unknown word would be answered too: what counts is that it runs.
	out, err := command.CombinedOutput()
	if !strings.HasPrefix(string(out), "weir") {
		t.Errorf("running it: %v\n%s", err, out)
	}
}

// flyKeys are the tables of fly.toml and their keys. The host ignores a key
// that it does not know, so a slip of the pen would have no effect and no
// message.
var flyKeys = map[string]string{
	"":                         "app primary_region kill_signal kill_timeout",
	"build":                    "dockerfile build-target",
	"env":                      "",
	"http_service":             "internal_port force_https auto_stop_machines auto_start_machines min_machines_running",
	"http_service.concurrency": "type soft_limit hard_limit",
	"http_service.checks":      "method path interval timeout grace_period",
	"mounts":                   "source destination initial_size snapshot_retention auto_extend_size_threshold auto_extend_size_increment auto_extend_size_limit",
	"restart":                  "policy retries",
	"vm":                       "size memory",
	"metrics":                  "port path",
	"deploy":                   "strategy",
}

// fly returns the values of fly.toml by "table.key". It reads as much of TOML
// as the file uses.
func fly(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../fly.toml")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	table := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		key, value, assigned := strings.Cut(line, " = ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			table = strings.Trim(line, "[]")
		case assigned:
			values[strings.TrimPrefix(table+"."+key, ".")] = strings.Trim(value, `"`)
			checkFlyKey(t, table, key)
		default:
			t.Errorf("fly.toml: %q is neither a table nor a value", line)
		}
	}
	return values
}

func checkFlyKey(t *testing.T, table, key string) {
	t.Helper()
	keys, known := flyKeys[table]
	if !known || (table != "env" && !slices.Contains(strings.Fields(keys), key)) {
		t.Errorf("fly.toml: there is no key %s in [%s]", key, table)
	}
}

func TestFlyKeepsTheMachineAndWaitsForTheDrain(t *testing.T) {
	values := fly(t)
	wants := map[string]string{
		"kill_signal":                       "SIGTERM",
		"http_service.auto_stop_machines":   "off",
		"http_service.auto_start_machines":  "true",
		"http_service.checks.path":          "/healthz",
		"http_service.internal_port":        "8080",
		"env.WEIR_CLIENT_IP_HEADER":         "Fly-Client-IP",
		"restart.policy":                    "on-failure",
		"mounts.destination":                "/data",
		"deploy.strategy":                   "rolling",
		"vm.memory":                         "256mb",
		"env.WEIR_METRICS_ADDR":             ":" + values["metrics.port"],
		"mounts.auto_extend_size_threshold": "80",
	}
	for key, want := range wants {
		if got := values[key]; got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	drain := flyDuration(t, values["env.WEIR_SHUTDOWN_GRACE"]) + flyDuration(t, values["env.WEIR_SHUTDOWN_DELAY"])
	if kill := flyDuration(t, values["kill_timeout"]); drain == 0 || kill <= drain {
		t.Errorf("kill_timeout is %s, and the drain may take %s", kill, drain)
	}
	if !strings.HasPrefix(values["env.WEIR_DATABASE"], values["mounts.destination"]+"/") {
		t.Errorf("the database %s is not on the volume", values["env.WEIR_DATABASE"])
	}
}

// flyDuration reads one, 0 where there is none.
func flyDuration(t *testing.T, text string) time.Duration {
	t.Helper()
	if text == "" {
		return 0
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return length
}

func TestFlyBuildsTheStageThatMayWriteToItsVolume(t *testing.T) {
	values := fly(t)
	for _, stage := range dockerfile(t) {
		if stage[0].args != "scratch AS "+values["build.build-target"] {
			continue
		}
		if user := argument(stage, "USER"); user != "0:0" {
			t.Errorf("stage %s runs as %s, and a fresh volume belongs to root", stage[0].args, user)
		}
		return
	}
	t.Errorf("the Dockerfile has no stage %q", values["build.build-target"])
}

func TestFlySecretsStayOutOfItsFile(t *testing.T) {
	for key := range fly(t) {
		if strings.Contains(key, "SECRET") || strings.Contains(key, "TOKEN") || strings.HasSuffix(key, "_HEADERS") {
			t.Errorf("%s belongs into the host's secrets", key)
		}
	}
}
