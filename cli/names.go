package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"weir/cli/client"
	"weir/webhook"
	"weir/webhook/wording"
)

// namesIn returns what a query names, once each.
func namesIn(query url.Values) map[string]string {
	names := make(map[string]string, len(query))
	for member := range query {
		names[member] = query.Get(member)
	}
	return names
}

// warnUnknownNames says which source or destination of a filter the service does
// not have: after a slip nothing matches, which looks like good news. A service
// that will not say is not asked again; it is a hint only.
func warnUnknownNames(ctx context.Context, c *client.Client, notes io.Writer, filter map[string]string) {
	for _, member := range []string{"source", "destination"} {
		name := filter[member]
		if name == "" {
			continue
		}
		var list client.List[struct {
			Name string `json:"name"`
		}]
		if err := c.Get(ctx, "/v1/"+member+"s", &list); err != nil {
			continue
		}
		var known []string
		for _, item := range list.Items {
			known = append(known, item.Name)
		}
		if !slices.Contains(known, name) {
			fmt.Fprintf(notes, "weir: no %s %s; there %s\n", member, wording.PlainLine(name), isOrAre(known))
		}
	}
}

// isOrAre lists names behind the word that fits.
func isOrAre(names []string) string {
	switch len(names) {
	case 0:
		return "is none"
	case 1:
		return "is " + names[0]
	}
	return "are " + strings.Join(names, ", ")
}

// checkFilter refuses a word that the service would not know, as the wrong call
// that it is.
func checkFilter(member, value string) error {
	switch member {
	case "state":
		return oneOfWords(value, webhook.States())
	case "reason":
		return oneOfWords(value, webhook.DeadReasons())
	case "waiting_for":
		return oneOfWords(value, webhook.WaitingFors())
	}
	return nil
}

// oneOfWords refuses a value that is not among the words.
func oneOfWords[T ~string](value string, words []T) error {
	if slices.Contains(words, T(value)) {
		return nil
	}
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return fmt.Errorf("want one of %s", strings.Join(list, ", "))
}
