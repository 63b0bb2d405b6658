package config

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// Secrets returns every secret text, so that what is kept of answers can be
// redacted: tokens, secrets, the values of headers with and without their
// scheme ("Bearer"), credentials of URLs in plain and in Basic form.
func (s Settings) Secrets() []string {
	list := s.APITokens()
	list = append(list, urlSecrets(s.AlertURL.Parsed())...)
	list = append(list, string(s.AlertURL))
	for _, source := range s.Sources {
		list = append(list, string(source.VerifyToken))
		for _, one := range source.Secrets() {
			list = append(list, one)
			if user, password, isPair := strings.Cut(one, ":"); isPair && source.Scheme == SchemeBasic {
				list = append(list, password, basicCredentials(user, password))
			}
		}
	}
	for _, destination := range s.Destinations {
		list = append(list, destination.secrets()...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(one string) bool { return one == "" })
}

// secrets returns those of one destination.
func (d Destination) secrets() []string {
	list := append(urlSecrets(d.URL.Parsed()), string(d.SigningSecret))
	for _, value := range d.Headers {
		list = append(list, value)
		if _, credentials, isPair := strings.Cut(value, " "); isPair {
			list = append(list, strings.TrimSpace(credentials))
		}
	}
	return list
}

// urlSecrets returns password, Basic form and query values of a URL.
func urlSecrets(u *url.URL) []string {
	if u == nil {
		return nil
	}
	var list []string
	if password, set := u.User.Password(); set {
		list = append(list, password)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		list = append(list, basicCredentials(u.User.Username(), password))
	}
	for _, values := range u.Query() {
		list = append(list, values...)
	}
	return list
}

// basicCredentials is the form that RFC 7617 sends.
func basicCredentials(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}
