package config

import "strconv"

// hookURL is a webURL that lets in whoever knows it, as those of chat services
// do: more than its host is shown nowhere.
type hookURL struct{ webURL }

// String shows scheme and host, and that there is more.
func (u hookURL) String() string {
	parsed := u.parsed()
	if parsed == nil {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host + "/***"
}

// GoString keeps the address out of %#v.
func (u hookURL) GoString() string { return strconv.Quote(u.String()) }
