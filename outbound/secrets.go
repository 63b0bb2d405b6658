package outbound

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the least length at which a value is redacted wherever it
// stands: shorter ones are found in ordinary text.
const minSecret = 4

// Secrets are values that must not appear in anything that is kept, prepared
// for search. The zero value has none.
type Secrets struct {
	// needles are the values in all spellings, longest first.
	needles []string
}

// NewSecrets prepares values to be redacted: as they are, escaped as in JSON
// and in addresses, and in base64. Values shorter than four bytes are left
// out.
func NewSecrets(values ...string) Secrets {
	var needles []string
	for _, value := range values {
		value = strings.TrimSpace(value)
		if len(value) < minSecret {
			continue
		}
		needles = append(needles, spellings(value)...)
	}
	slices.SortFunc(needles, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return Secrets{slices.Compact(needles)}
}

// spellings of one value.
func spellings(value string) []string {
	list := []string{
		value, url.QueryEscape(value), url.PathEscape(value),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "="),
		strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(value)), "="),
	}
	if quoted, err := json.Marshal(value); err == nil {
		escaped := string(quoted[1 : len(quoted)-1])
		list = append(list, escaped, strings.ReplaceAll(escaped, "/", `\/`))
	}
	plain := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "/", `\/`)
	return append(list, plain.Replace(value))
}

// contains reports whether a text holds one of the values.
func (s Secrets) contains(text string) bool {
	for _, needle := range s.needles {
		if strings.Contains(text, needle) {
			return true
		}
	}
	return false
}

// removeFrom replaces the values in a text. A text may end within one, cut by
// whoever sent it: such a tail goes as well.
func (s Secrets) removeFrom(text string) string {
	for _, needle := range s.needles {
		if strings.Contains(text, needle) {
			text = strings.ReplaceAll(text, needle, redacted)
		}
	}
	if len(s.needles) > 0 {
		text = s.removeEscaped(text)
	}
	for _, needle := range s.needles {
		for length := min(len(needle)-1, len(text)); length >= minSecret; length-- {
			if strings.HasSuffix(text, needle[:length]) {
				return text[:len(text)-length] + redacted
			}
		}
	}
	return text
}

// secretValues gathers what a configuration holds that must not be kept.
func secretValues(config Config, target *url.URL) []string {
	values := append([]string{config.SigningSecret, strings.TrimPrefix(config.SigningSecret, "whsec_")}, config.Secrets...)
	for _, value := range config.Headers {
		values = append(values, value)
		if scheme, credential, found := strings.Cut(value, " "); found {
			values = append(values, credential)
			if strings.EqualFold(scheme, "basic") {
				values = append(values, basicParts(credential)...)
			}
		}
	}
	if target.User != nil {
		password, _ := target.User.Password()
		values = append(values, password, target.User.Username()+":"+password, target.User.String())
	}
	for _, list := range target.Query() {
		values = append(values, list...)
	}
	return values
}

// basicParts returns the pair and the password of Basic credentials.
func basicParts(credential string) []string {
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credential))
	if err != nil {
		return nil
	}
	_, password, _ := strings.Cut(string(pair), ":")
	return []string{string(pair), password}
}
