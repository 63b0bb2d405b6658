package sqlite

import (
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
)

// headerVersion begins every encoded header.
const headerVersion = 1

// errHeader says that stored bytes are not an encoded header.
var errHeader = errors.New("stored header is damaged")

// encodeHeader keeps field values byte by byte. JSON would not: a value need
// not be UTF-8. The form is a version byte, then for each name in order the
// name, the number of values and the values; texts are preceded by their
// length, all numbers are unsigned varints.
func encodeHeader(header http.Header) []byte {
	names := make([]string, 0, len(header))
	size := 1
	for name, values := range header {
		names = append(names, name)
		size += len(name) + 8
		for _, value := range values {
			size += len(value) + 4
		}
	}
	slices.Sort(names)
	encoded := append(make([]byte, 0, size), headerVersion)
	for _, name := range names {
		encoded = appendText(encoded, name)
		encoded = binary.AppendUvarint(encoded, uint64(len(header[name])))
		for _, value := range header[name] {
			encoded = appendText(encoded, value)
		}
	}
	return encoded
}

func appendText(encoded []byte, text string) []byte {
	encoded = binary.AppendUvarint(encoded, uint64(len(text)))
	return append(encoded, text...)
}

// decodeHeader reverses encodeHeader. Memory stays within a small multiple of
// the length of what is read, whatever the numbers in it claim.
func decodeHeader(encoded []byte) (http.Header, error) {
	if len(encoded) == 0 || encoded[0] != headerVersion {
		return nil, errHeader
	}
	rest := headerReader{encoded[1:]}
	header := http.Header{}
	for len(rest.bytes) > 0 {
		name, err := rest.text()
		if err != nil {
			return nil, err
		}
		count, err := rest.number()
		if err != nil {
			return nil, err
		}
		values := make([]string, count)
		for i := range values {
			if values[i], err = rest.text(); err != nil {
				return nil, err
			}
		}
		header[name] = values
	}
	return header, nil
}

// headerReader is what is left to read of an encoded header.
type headerReader struct{ bytes []byte }

// number reads a count or a length; neither can exceed what is left.
func (r *headerReader) number() (int, error) {
	number, width := binary.Uvarint(r.bytes)
	if width <= 0 || number > uint64(len(r.bytes)-width) {
		return 0, errHeader
	}
	r.bytes = r.bytes[width:]
	return int(number), nil
}

func (r *headerReader) text() (string, error) {
	length, err := r.number()
	if err != nil {
		return "", err
	}
	text := string(r.bytes[:length])
	r.bytes = r.bytes[length:]
	return text, nil
}
