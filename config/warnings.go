package config

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// doubtSource warns of what works and was hardly meant. No warning holds a
// part of a secret.
func (l loaded) doubtSource(source namedSource, scheme string, found *problems) {
	for _, one := range []struct {
		key   string
		value secret
	}{
		{source.prefix + "SECRET", source.config.Secret},
		{source.prefix + "SECRET_PREVIOUS", source.config.SecretPrevious},
	} {
		if doubt := doubtfulSecret(string(one.value), scheme); doubt != "" {
			found.warn(one.key, "%s", doubt)
		}
	}
}

// shortSecret is below what any sender makes, and what can be guessed.
const shortSecret = 8

// doubtfulSecret says what looks wrong with a secret; "" when nothing does.
func doubtfulSecret(value, scheme string) string {
	switch {
	case value == "":
		return ""
	case strings.ContainsFunc(value, unicode.IsControl):
		return "has a line break or another control character in it"
	case quoted(value):
		return "stands in quotation marks, which are taken as a part of it"
	case scheme == "stripe" && (strings.HasPrefix(value, "sk_") || strings.HasPrefix(value, "rk_")):
		return "looks like an API key; the secret of an endpoint begins with whsec_"
	case len(value) < shortSecret:
		return "is so short that it can be guessed"
	}
	return ""
}

// quoted reports whether a text stands in quotation marks, as files for the
// environment of a container leave them.
func quoted(text string) bool {
	last := len(text) - 1
	return last > 0 && text[0] == text[last] && (text[0] == '"' || text[0] == '\'')
}

// doubtPublicURL warns of an address that already leads to a source: senders
// are given one with the path of theirs behind it.
func (l loaded) doubtPublicURL(found *problems) {
	public := l.global.PublicURL.parsed()
	if public != nil && strings.Contains(public.Path+"/", "/hooks/") {
		found.warn("WEIR_PUBLIC_URL", "has /hooks in it, and the path of each source is added to it: it is the address of weir alone")
	}
}

// doubtDestination warns of a destination that is weir itself: what it sends
// there comes in again.
func (l loaded) doubtDestination(destination namedDestination, found *problems) {
	target := l.urlOf(destination).parsed()
	if target == nil || !strings.HasPrefix(target.Path, "/hooks/") {
		return
	}
	if l.isSelf(target) {
		found.warn(destination.prefix+"URL", "is weir's own receive path: what is sent there comes in again")
	}
}

// isSelf reports whether a URL leads to this service, as far as settings tell.
func (l loaded) isSelf(target *url.URL) bool {
	if public := l.global.PublicURL.parsed(); public != nil && public.Host == target.Host {
		return true
	}
	_, port, err := net.SplitHostPort(l.addr(new(problems)))
	address := net.ParseIP(target.Hostname())
	here := target.Hostname() == "localhost" || address != nil && (address.IsLoopback() || address.IsUnspecified())
	return err == nil && here && target.Port() == port
}

// doubtFolder warns of a database whose folder is not there. Settings may be
// looked at on another machine than they are for, so that it is no fault.
func doubtFolder(database string, found *problems) {
	folder := filepath.Dir(database)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		found.warn("WEIR_DATABASE", "there is no folder %s on this machine; serve does not make it", folder)
	}
}
