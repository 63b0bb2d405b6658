package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// variable is one setting as the tags of its field describe it.
type variable struct {
	Key    string
	kind   string
	def    string // default, "" where there is none
	unset  string // in words what applies without one
	desc   string
	Min    string
	Max    string
	oneOf  []string
	secret bool
	raw    bool
	scheme choice // those that use it, separated by "|"; "" for all
	value  reflect.Value
}

// shownValue is what every type of a setting can do.
type shownValue interface {
	kind() string
	String() string
}

// variables lists the settings of a struct behind a prefix, in the order of
// the fields. The values stay those of the struct that spec points to.
func variables(prefix string, spec any) []variable {
	value := reflect.ValueOf(spec).Elem()
	list := make([]variable, 0, value.NumField())
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if field.Tag.Get("ignored") == "true" {
			continue
		}
		one := variable{
			Key:    prefix + snakeCase(field.Name),
			def:    field.Tag.Get("default"),
			unset:  field.Tag.Get("unset"),
			desc:   field.Tag.Get("desc"),
			Min:    field.Tag.Get("min"),
			Max:    field.Tag.Get("max"),
			secret: field.Tag.Get("secret") == "true",
			raw:    field.Tag.Get("raw") == "true",
			scheme: choice(field.Tag.Get("scheme")),
			value:  value.Field(i),
		}
		one.kind = one.shownValue().kind()
		if words := field.Tag.Get("oneof"); words != "" {
			one.oneOf = strings.Split(words, "|")
		}
		list = append(list, one)
	}
	return list
}

// usedBy reports whether a source of the scheme uses the setting.
func (v variable) usedBy(scheme choice) bool {
	return v.scheme == "" || slices.Contains(strings.Split(string(v.scheme), "|"), string(scheme))
}

// shownValue returns the value by its common methods.
func (v variable) shownValue() shownValue { return v.value.Interface().(shownValue) }

// form says what may be written: the type with its bounds or words.
func (v variable) form() string {
	switch {
	case v.oneOf != nil:
		return strings.Join(v.oneOf, ", ")
	case v.Min != "":
		return fmt.Sprintf("%s, %s to %s", v.kind, v.Min, v.Max)
	}
	return v.kind
}

// Fallback is what applies when the variable is unset.
func (v variable) Fallback() string {
	if v.def != "" {
		return v.def
	}
	return v.unset
}

// outOfBounds says what is wrong with a value that the environment gave, "" if
// nothing is.
func (v variable) outOfBounds() string {
	if v.oneOf != nil {
		for _, word := range v.oneOf {
			if word == v.value.String() {
				return ""
			}
		}
		return "must be one of " + strings.Join(v.oneOf, ", ")
	}
	if v.Min == "" {
		return ""
	}
	if n := v.value.Int(); n < v.bound(v.Min) || n > v.bound(v.Max) {
		return fmt.Sprintf("must be a %s from %s to %s", v.kind, v.Min, v.Max)
	}
	return ""
}

// bound reads a bound in the notation of the variable itself.
func (v variable) bound(text string) int64 {
	limit := reflect.New(v.value.Type())
	if err := limit.Interface().(interface{ Decode(string) error }).Decode(text); err != nil {
		panic(fmt.Sprintf("the bound %q of %s: %v", text, v.Key, err)) // a tag in this package
	}
	return limit.Elem().Int()
}

// snakeCase turns the name of a field into that of a variable in the way of
// envconfig's split_words: HMACTimestampHeader is HMAC_TIMESTAMP_HEADER.
func snakeCase(name string) string {
	letters := []rune(name)
	var key strings.Builder
	for i, letter := range letters {
		if i > 0 && unicode.IsUpper(letter) {
			afterLower := unicode.IsLower(letters[i-1])
			beforeLower := i+1 < len(letters) && unicode.IsLower(letters[i+1])
			if afterLower || beforeLower {
				key.WriteByte('_')
			}
		}
		key.WriteRune(unicode.ToUpper(letter))
	}
	return key.String()
}
