package config

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// knownNames is every name of a setting.
type knownNames struct {
	keys map[string]bool
	// owners are the prefixes of the sources and destinations.
	owners []string
}

// learn adds the settings of a struct behind a prefix, those of their files
// too.
func (known *knownNames) learn(prefix string, spec any) {
	for _, v := range variables(prefix, spec) {
		known.keys[v.Key] = true
		if v.secret {
			known.keys[v.Key+fileSuffix] = true
		}
	}
	if prefix != globalPrefix {
		known.owners = append(known.owners, prefix)
	}
}

// hasOwnerOf reports whether a key begins like the settings of a source or
// destination that is listed.
func (known *knownNames) hasOwnerOf(key string) bool {
	return slices.ContainsFunc(known.owners, func(prefix string) bool {
		return strings.HasPrefix(key, prefix)
	})
}

// nearName is how many letters a slip changes in a name.
const nearName = 2

// checkNames reports every variable whose name is not that of a setting, and
// slips in the lists of names.
func (p *pass) checkNames() {
	known := knownNames{keys: make(map[string]bool)}
	known.learn(globalPrefix, &p.settings)
	for i := range p.settings.Sources {
		known.learn(p.settings.Sources[i].prefix(), &p.settings.Sources[i])
	}
	for i := range p.settings.Destinations {
		known.learn(p.settings.Destinations[i].prefix(), &p.settings.Destinations[i])
	}
	p.checkSlips(known)
	p.checkUnknown(known)
}

// checkSlips reports a list that has a name without any setting, where a
// similar name has some but is not listed: the slip is in the list, and all
// that would follow from it is noise.
func (p *pass) checkSlips(known knownNames) {
	for _, kind := range ownedKinds() {
		for _, owner := range known.owners {
			if !strings.HasPrefix(owner, kind.prefix) || p.env.mayBeBare(owner) {
				continue
			}
			for _, name := range p.env.unlisted(kind.prefix, known) {
				if distance(PrefixOf(kind.prefix, name), owner) <= nearName {
					p.add(kind.list, "has a name for which nothing is set, and not %s, for which there are settings; did you mean %s?", name, name)
				}
			}
		}
	}
}

// mayBeBare reports whether a source or destination has settings, or needs none
// of its own.
func (e environment) mayBeBare(owner string) bool {
	for key := range e {
		if strings.HasPrefix(key, owner) {
			return true
		}
	}
	return owner == PrefixOf(DestinationPrefix, defaultDestination)
}

// unlisted returns the names that have settings and no place in the list.
func (e environment) unlisted(prefix string, known knownNames) []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(e)) {
		if name := ownerOf(key, prefix); name != "" && !known.hasOwnerOf(key) {
			list = append(list, name)
		}
	}
	return list
}

// checkUnknown reports every variable that begins with WEIR_, in upper or lower
// case, and is not a setting: its name is mistyped, or belongs to a source or
// destination that is not listed.
func (p *pass) checkUnknown(known knownNames) {
	for _, key := range slices.Sorted(maps.Keys(p.env)) {
		upper := strings.ToUpper(key)
		switch {
		case known.keys[key], !strings.HasPrefix(upper, globalPrefix), p.env.fromKubernetes(key):
		case p.listIsWrong(upper):
		case known.keys[upper]:
			p.add(key, "is not a setting: the names of settings are in upper case; did you mean %s?", upper)
		default:
			p.add(key, "%s", known.unknownReason(upper))
		}
	}
}

// listIsWrong reports whether the key may belong to a list of names that could
// not be read: then nothing can be said about it.
func (p *pass) listIsWrong(key string) bool {
	return strings.HasPrefix(key, SourcePrefix) && p.has("WEIR_SOURCES") ||
		strings.HasPrefix(key, DestinationPrefix) && p.has("WEIR_DESTINATIONS")
}

// serviceLinks are the names of the variables that Kubernetes sets in every
// container for a Service named weir.
var serviceLinks = regexp.MustCompile(`^WEIR_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

func (e environment) fromKubernetes(key string) bool {
	return e["KUBERNETES_SERVICE_HOST"] != "" && serviceLinks.MatchString(key)
}

// unknownReason says what may have been meant.
func (known *knownNames) unknownReason(key string) string {
	reason, edits := "is not a setting", len(key)/2
	for _, kind := range ownedKinds() {
		if name := ownerOf(key, kind.prefix); name != "" && !known.hasOwnerOf(key) {
			// Another owner's setting is near by nature: only a slip counts.
			reason, edits = "is not used: "+kind.list+" does not list "+name, 3
		}
	}
	near := cmp.Or(known.withOwner(key), nearestName(key, slices.Sorted(maps.Keys(known.keys)), edits))
	if near != "" {
		return reason + "; did you mean " + near + "?"
	}
	return reason + "; weir help settings lists all settings"
}

// ownedKinds are the two kinds of settings that have a name in them, and where
// the names are listed.
func ownedKinds() [2]struct{ prefix, list string } {
	return [...]struct{ prefix, list string }{{SourcePrefix, "WEIR_SOURCES"}, {DestinationPrefix, "WEIR_DESTINATIONS"}}
}

// withOwner returns what was meant by the setting of a source or destination
// that was written without a name, such as WEIR_MAX_AGE; "" when it is none.
func (known *knownNames) withOwner(key string) string {
	field := strings.TrimPrefix(key, globalPrefix)
	if field == "PORT" { // of the listener
		return "PORT or WEIR_ADDR"
	}
	var meant []string
	for _, kind := range ownedKinds() {
		first := slices.IndexFunc(known.owners, func(owner string) bool {
			return strings.HasPrefix(owner, kind.prefix) && known.keys[owner+field]
		})
		if first >= 0 {
			meant = append(meant, known.owners[first]+field)
		}
	}
	return strings.Join(meant, " or ")
}

// ownerOf returns the name of the source or destination whose setting the key
// would be; "" when it ends in no known setting.
func ownerOf(key, prefix string) string {
	rest, found := strings.CutPrefix(key, prefix)
	if !found {
		return ""
	}
	owner := ""
	for suffix := range suffixesOf(prefix) {
		if name, ends := strings.CutSuffix(rest, "_"+suffix); ends && (owner == "" || len(name) < len(owner)) {
			owner = name
		}
	}
	owner = strings.ReplaceAll(strings.ToLower(owner), "_", "-")
	if !nameForm.MatchString(owner) {
		return ""
	}
	return owner
}

// suffixesOf returns the settings of one source or destination.
func suffixesOf(prefix string) map[string]bool {
	suffixes := knownNames{keys: make(map[string]bool)}
	if prefix == SourcePrefix {
		suffixes.learn("", new(Source))
	} else {
		suffixes.learn("", new(Destination))
	}
	return suffixes.keys
}

// nearestName returns the candidate with the least edits from the given name,
// "" when all are more than a number of edits away.
func nearestName(name string, candidates []string, most int) string {
	nearest, least := "", most+1
	for _, candidate := range candidates {
		if edits := distance(name, candidate); edits < least {
			nearest, least = candidate, edits
		}
	}
	return nearest
}

// maxCompared bounds the names that are compared, in bytes.
const maxCompared = 128

// distance counts the letters to insert, delete, replace or swap with their
// neighbour (optimal string alignment).
func distance(a, b string) int {
	a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
