package signature

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// The parts of a signed content besides literal text. Operators may use the
// first five; the others belong to single senders.
const (
	partBody      = "{body}"
	partTimestamp = "{timestamp}"
	partID        = "{id}"
	partMethod    = "{method}"
	partURL       = "{url}"
	partForm      = "{form}"    // Twilio: sorted names and values
	partPayload   = "{payload}" // Gitea: the JSON, in form mode too
)

// template is what is signed: literal texts and parts, in order.
type template []string

// publicParts are those that HMAC_TEMPLATE may name.
var publicParts = []string{partBody, partTimestamp, partID, partMethod, partURL}

// parseTemplate reads the setting HMAC_TEMPLATE. A brace that begins no known
// part is an error, as is a template without the body.
func parseTemplate(text string) (template, error) {
	if text == "" {
		return template{partBody}, nil
	}
	var parts template
	for text != "" {
		before, _, _ := strings.Cut(text, "{")
		if before != "" {
			parts = append(parts, before)
			text = text[len(before):]
			continue
		}
		end := strings.IndexByte(text, '}')
		if end < 0 || !slices.Contains(publicParts, text[:end+1]) {
			return nil, fmt.Errorf("the template may only have the parts %s", strings.Join(publicParts, ", "))
		}
		parts = append(parts, text[:end+1])
		text = text[end+1:]
	}
	if !parts.uses(partBody) {
		return nil, errors.New("the template leaves out {body}: nothing would protect it")
	}
	return parts, nil
}

func (t template) uses(part string) bool { return slices.Contains(t, part) }

// write writes the content of a request.
func (t template) write(w io.Writer, in *input) *refusal {
	for _, part := range t {
		var text string
		var refused *refusal
		switch part {
		case partBody:
			_, _ = w.Write(in.signed)
			continue
		case partTimestamp:
			text = in.stamp
		case partID:
			text = in.id
		case partMethod:
			text = in.Method
		case partURL:
			text = in.url
		case partForm:
			text, refused = in.fieldsBy(twilioForm)
		case partPayload:
			if form, _ := isForm(in); !form {
				_, _ = w.Write(in.signed)
				continue
			}
			text, refused = in.fieldsBy(giteaPayload)
		default:
			text = part
		}
		if refused != nil {
			return refused
		}
		// Neither a hash nor a buffer fails to take bytes.
		_, _ = io.WriteString(w, text)
	}
	return nil
}

// hubspotURLs gives the address as HubSpot's page says that it is signed, with
// some escapes decoded, and as HubSpot's own libraries take it.
func hubspotURLs(address string) []string {
	if decoded := decodeSome(address); decoded != address {
		return []string{decoded, address}
	}
	return []string{address}
}

// decodeSome decodes the escapes that HubSpot decodes before it signs: the
// table in its page on request validation.
func decodeSome(address string) string {
	if !strings.Contains(address, "%") {
		return address
	}
	var out strings.Builder
	for i := 0; i < len(address); i++ {
		if address[i] == '%' && i+2 < len(address) {
			raw, err := hex.DecodeString(address[i+1 : i+3])
			if err == nil && strings.IndexByte(":/?@!$'()*,;", raw[0]) >= 0 {
				out.WriteByte(raw[0])
				i += 2
				continue
			}
		}
		out.WriteByte(address[i])
	}
	return out.String()
}

// isForm reports whether the body is a URL-encoded form; without a
// Content-Type the second result is false.
func isForm(in *input) (form, stated bool) {
	value := in.Header.Get("Content-Type")
	kind, _, _ := strings.Cut(value, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded"), value != ""
}

// fieldsBy reads the form once for all secrets and addresses that are tried.
func (in *input) fieldsBy(read func(*input) (string, *refusal)) (string, *refusal) {
	if !in.fieldsDone {
		in.fields, in.fieldsBad = read(in)
		in.fieldsDone = true
	}
	return in.fields, in.fieldsBad
}

// twilioForm returns the names and values of a form, sorted by name and then
// by value, each pair once. A body that is no form is covered by its digest in
// the signed URL instead.
func twilioForm(in *input) (string, *refusal) {
	if digests := queryOf(in.Target)["bodySHA256"]; len(digests) > 0 {
		sum := sha256.Sum256(in.signed)
		if len(digests) != 1 || !strings.EqualFold(digests[0], hex.EncodeToString(sum[:])) {
			return "", bad("the body does not match bodySHA256")
		}
		return "", nil
	}
	if len(in.signed) == 0 {
		return "", nil
	}
	if form, stated := isForm(in); stated && !form {
		return "", bad("the body is neither a form nor covered by bodySHA256")
	}
	values, err := url.ParseQuery(string(in.signed))
	if err != nil {
		return "", bad("the form cannot be read")
	}
	return sortedPairs(values), nil
}

// byUTF16 orders names as Twilio and JavaScript do: by the code units of
// UTF-16, in which characters beyond U+FFFF come before U+E000.
func byUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func sortedPairs(values url.Values) string {
	var out strings.Builder
	for _, name := range slices.SortedFunc(maps.Keys(values), byUTF16) {
		for _, value := range slices.Compact(slices.Sorted(slices.Values(values[name]))) {
			out.WriteString(name)
			out.WriteString(value)
		}
	}
	return out.String()
}

// giteaPayload returns the JSON that Gitea signs in form mode: the one field of
// the form. Other fields would not be covered, so they are refused.
func giteaPayload(in *input) (string, *refusal) {
	values, err := url.ParseQuery(string(in.signed))
	if err != nil || len(values) != 1 || len(values["payload"]) != 1 {
		return "", bad("the form is not one payload field")
	}
	return values.Get("payload"), nil
}

// twilioURLs gives the address without and with its port: Twilio signs either,
// depending on the product.
func twilioURLs(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return []string{address}
	}
	authority := u.Host
	other := u.Hostname()
	if strings.Contains(other, ":") {
		other = "[" + other + "]"
	}
	if u.Port() == "" {
		other = authority + ":" + defaultPort(u.Scheme)
	}
	forms := []string{address, strings.Replace(address, authority, other, 1)}
	if strings.Contains(address, "'") {
		// Twilio's own library escapes apostrophes before it signs.
		for _, form := range forms[:2] {
			forms = append(forms, strings.ReplaceAll(form, "'", "%27"))
		}
	}
	return forms
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}
