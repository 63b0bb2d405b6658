package handler

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
)

type openAPISchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

type openAPIOperation struct {
	OperationID string `json:"operationId"`
	Summary     string `json:"summary"`
	Parameters  []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
	Responses map[string]json.RawMessage `json:"responses"`
}

type openAPIFile struct {
	OpenAPI    string                                 `json:"openapi"`
	Paths      map[string]map[string]openAPIOperation `json:"paths"`
	Components struct {
		Schemas map[string]openAPISchema `json:"schemas"`
	} `json:"components"`
}

func TestOpenAPIHasExactlyTheRoutes(t *testing.T) {
	file := decode[openAPIFile](t, openAPIDocument)
	described := map[string]bool{}
	for path, operations := range file.Paths {
		for method := range operations {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	h := newHouse(t, func(c *Config) { c.Metrics = http.NotFoundHandler() })
	served := map[string]bool{}
	err := chi.Walk(routes(h.config), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		// HEAD goes with GET, and both forms of a receive path are one.
		if method != http.MethodHead {
			route = strings.Replace(route, "/events/*", "/events/{key}", 1)
			served[method+" "+strings.TrimSuffix(route, "/")] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("served (-) and described (+): %s", diff)
	}
}

func TestOpenAPIOperationsAreWhole(t *testing.T) {
	file := decode[openAPIFile](t, openAPIDocument)
	if !strings.HasPrefix(file.OpenAPI, "3.1") {
		t.Errorf("version %q", file.OpenAPI)
	}
	seen := map[string]bool{}
	for path, operations := range file.Paths {
		for method, operation := range operations {
			if operation.OperationID == "" || seen[operation.OperationID] || operation.Summary == "" || len(operation.Responses) == 0 {
				t.Errorf("%s %s: %+v", method, path, operation)
			}
			seen[operation.OperationID] = true
			for part := range strings.SplitSeq(path, "/") {
				if name, isParameter := strings.CutPrefix(part, "{"); isParameter && !operation.has(strings.TrimSuffix(name, "}")) {
					t.Errorf("%s %s does not describe %s", method, path, part)
				}
			}
		}
	}
}

func (o openAPIOperation) has(name string) bool {
	for _, parameter := range o.Parameters {
		if parameter.Name == name && parameter.In == "path" {
			return true
		}
	}
	return false
}

func TestOpenAPIReferencesLeadSomewhere(t *testing.T) {
	whole := decode[map[string]any](t, openAPIDocument)
	var follow func(any)
	follow = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			if target, is := value["$ref"].(string); is {
				var at any = whole
				for part := range strings.SplitSeq(strings.TrimPrefix(target, "#/"), "/") {
					at = at.(map[string]any)[part]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", target)
				}
			}
			for _, member := range value {
				follow(member)
			}
		case []any:
			for _, element := range value {
				follow(element)
			}
		}
	}
	follow(whole)
}

// TestOpenAPIDescribesWhatIsEncoded holds every schema against the type that
// is encoded.
func TestOpenAPIDescribesWhatIsEncoded(t *testing.T) {
	file := decode[openAPIFile](t, openAPIDocument)
	for name, value := range map[string]any{
		"Problem": problem{}, "Event": eventView{}, "Delivery": deliveryView{}, "Attempt": attemptView{},
		"Destination": destinationView{}, "Hold": holdView{}, "Breaker": breakerView{}, "Window": windowView{},
		"Slots": slotsView{}, "Pace": paceView{}, "Queue": queueView{}, "Sizes": sizesView{}, "Source": sourceView{},
		"Stats": statsView{}, "Minute": minuteView{}, "Totals": totalsView{}, "Changed": changed{}, "Bulk": bulk{},
		"BulkResult": bulkResult{}, "EventPage": page{}, "Health": health{},
	} {
		members, always := encoded(reflect.TypeOf(value))
		schema := file.Components.Schemas[name]
		described := slices.Sorted(maps.Keys(schema.Properties))
		if diff := cmp.Diff(members, described); diff != "" {
			t.Errorf("%s: encoded (-) and described (+): %s", name, diff)
		}
		for _, member := range schema.Required {
			if !slices.Contains(always, member) && name != "Bulk" {
				t.Errorf("%s: %s is required and may be left out", name, member)
			}
		}
	}
}

// encoded lists the members of a type, and those that are never left out.
func encoded(of reflect.Type) (members, always []string) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous {
			inner, innerAlways := encoded(field.Type)
			members, always = append(members, inner...), append(always, innerAlways...)
			continue
		}
		members = append(members, name)
		if options != "omitempty" {
			always = append(always, name)
		}
	}
	slices.Sort(members)
	return members, always
}

func TestOpenAPIIsServed(t *testing.T) {
	answer := newHouse(t, nil).operator("GET /v1/openapi.json", "")
	wants(t, answer, http.StatusOK)
	if !json.Valid(answer.Body.Bytes()) || answer.Header().Get("Content-Type") != "application/json" {
		t.Error("not a JSON document")
	}
}
