package config

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// environment is what is set, by name. An empty value is not set.
type environment map[string]string

// newEnvironment reads the form of os.Environ. Of a name that is given twice
// the last counts.
func newEnvironment(environ []string) environment {
	env := make(environment, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		delete(env, name)
		if strings.TrimSpace(value) != "" {
			env[name] = value
		}
	}
	return env
}

// has reports whether a variable is set, itself or by a file.
func (e environment) has(key string) bool { return e[key] != "" || e[key+fileSuffix] != "" }

// decode fills the struct that spec points to from the variables behind a
// prefix, and reports every error.
func (e environment) decode(prefix string, spec any, found *problems) {
	list := variables(prefix, spec)
	given := make(map[string]string, len(list))
	for _, v := range list {
		if value := e.lookUp(v, found); value != "" {
			given[v.Key] = value
		}
	}
	fill(prefix, spec, given, found)
	for _, v := range list {
		if _, set := given[v.Key]; !set {
			continue
		}
		if reason := v.outOfBounds(); reason != "" {
			found.add(v.Key, "%s", reason)
		}
	}
}

// lookUp returns the value of a variable, from a file where one is named;
// "" when there is none, or none that can be used.
func (e environment) lookUp(v variable, found *problems) string {
	value, path := e[v.Key], e[v.Key+fileSuffix]
	if v.secret && path != "" {
		if value != "" {
			found.add(v.Key, "is set together with %s: set one of them", v.Key+fileSuffix)
			return ""
		}
		content, err := readSecretFile(strings.TrimSpace(path))
		if err != nil {
			found.add(v.Key+fileSuffix, "%v", err)
			return ""
		}
		value = content
	}
	if strings.ContainsRune(value, 0) {
		found.add(v.Key, "contains a NUL character")
		return ""
	}
	if v.raw {
		return value
	}
	trimmed := strings.TrimSpace(value)
	if v.secret && trimmed != value {
		found.warn(v.Key, "the white space around it was removed")
	}
	return trimmed
}

// maxSecretFile bounds what is read from the file of a secret, in bytes.
const maxSecretFile = 64 << 10

// readSecretFile returns the content without the line end that editors add. Its
// errors do not repeat the path: it may be the secret itself, pasted into the
// wrong variable.
func readSecretFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", withoutPath(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	switch {
	case err != nil:
		return "", withoutPath(err)
	case len(content) > maxSecretFile:
		return "", fmt.Errorf("the file is larger than %s", ByteSize(maxSecretFile))
	case strings.TrimSpace(string(content)) == "":
		return "", errors.New("the file is empty")
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}

// withoutPath returns what the system said about a file that cannot be read.
func withoutPath(err error) error {
	if of, isPathError := errors.AsType[*fs.PathError](err); isPathError {
		err = of.Err
	}
	return fmt.Errorf("the file cannot be read: %w", err)
}

// fill lets envconfig fill spec from the given values. envconfig reads the
// environment of the process and nothing else, stops at the first fault, and
// quotes the value in its error. So the values are laid out for it under a
// prefix of this call's own, which is removed again; each error is reported by
// name and reason, and its variable left out of the next round.
func fill(prefix string, spec any, given map[string]string, found *problems) {
	scratch := "ENVCONFIG_" + rand.Text()
	layOut := func(key string) string {
		return scratch + "_" + strings.TrimPrefix(key, prefix)
	}
	for key, value := range given {
		if err := os.Setenv(layOut(key), value); err != nil {
			found.add(key, "cannot be read")
		}
	}
	defer func() {
		for key := range given {
			os.Unsetenv(layOut(key))
		}
	}()
	for range len(given) + 1 {
		err := envconfig.Process(scratch, spec)
		wrong, isParseError := errors.AsType[*envconfig.ParseError](err)
		if !isParseError {
			return
		}
		key := prefix + strings.TrimPrefix(wrong.KeyName, scratch+"_")
		found.add(key, "%v", wrong.Err)
		os.Unsetenv(layOut(key))
		delete(given, key)
	}
}

// ephemeralHost names the platform when it is one that deletes the files of a
// service at each restart.
func (e environment) ephemeralHost() string {
	switch {
	case e["RENDER"] != "":
		return "Render"
	case e["K_SERVICE"] != "":
		return "Cloud Run"
	}
	for key := range e {
		if strings.HasPrefix(key, "KOYEB_") {
			return "Koyeb"
		}
	}
	return ""
}
