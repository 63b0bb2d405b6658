package service

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/service/metrics"
)

// selector is a metric in an expression, with what it selects by.
var selector = regexp.MustCompile(`\b(weir_[a-z_]+)(?:\{([^}]*)\})?`)

// matcher is one condition of a selector.
var matcher = regexp.MustCompile(`([a-z]+)(=~|!~|!=|=)"([^"]*)"`)

// labelList is a list of labels that an expression groups by.
var labelList = regexp.MustCompile(`\b(?:by|on|without|ignoring) \(([^)]*)\)`)

// existing holds expressions against the series of a house.
type existing struct {
	families map[string]metrics.Family
	series   map[string]float64
}

func existingSeries(t *testing.T) existing {
	t.Helper()
	e := existing{families: map[string]metrics.Family{}, series: samples(t, openService(t, io.Discard).metricsText())}
	for _, f := range metrics.Families() {
		e.families[f.Name] = f
	}
	return e
}

// check fails for each metric, label or value that an expression names and no
// series has.
func (e existing) check(t *testing.T, where, expression string) {
	t.Helper()
	found := selector.FindAllStringSubmatch(expression, -1)
	if len(found) == 0 {
		t.Errorf("%s: no metric in %q", where, expression)
	}
	labels := "instance"
	for _, one := range found {
		f := metrics.FamilyOf(one[1], e.families)
		if f.Name == "" {
			t.Errorf("%s: there is no metric %s", where, one[1])
		}
		labels += " " + f.Labels
		if f.Kind == metrics.KindHistogram {
			labels += " le"
		}
		for _, condition := range matcher.FindAllStringSubmatch(one[2], -1) {
			e.checkCondition(t, where+": "+one[1], condition)
		}
	}
	for _, list := range labelList.FindAllStringSubmatch(expression, -1) {
		for _, label := range strings.Split(list[1], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(strings.Fields(labels), label) {
				t.Errorf("%s: no metric of %q has the label %s", where, expression, label)
			}
		}
	}
}

func (e existing) checkCondition(t *testing.T, where string, condition []string) {
	t.Helper()
	for _, value := range strings.Split(condition[3], "|") {
		there := false
		for name := range e.series {
			there = there || strings.Contains(name, condition[1]+`="`+value+`"`)
		}
		if !there {
			t.Errorf("%s: no series has %s=%q", where, condition[1], value)
		}
	}
}

func TestAlertRulesAreValidAndUseSeriesThatExist(t *testing.T) {
	const path = "../docs/monitoring/alerts.yml"
	promtool(t, nil, "rules", path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e, rules := existingSeries(t), strings.Split(string(text), "- alert: ")[1:]
	if len(rules) < 10 {
		t.Fatalf("%d rules", len(rules))
	}
	for _, rule := range rules {
		name, rest, _ := strings.Cut(rule, "\n")
		_, expression, found := strings.Cut(rest, "expr: ")
		if !found {
			t.Fatalf("%s has no expression", name)
		}
		end := regexp.MustCompile(`\n {8}[a-z]+:`).FindStringIndex(expression)
		e.check(t, name, expression[:end[0]])
	}
}

// TestAPausePagesNobody: whoever paused a destination knows.
func TestAPausePagesNobody(t *testing.T) {
	text, err := os.ReadFile("../docs/monitoring/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, rule, _ := strings.Cut(string(text), "- alert: WeirDestinationNeedsPerson\n")
	rule, _, _ = strings.Cut(rule, "labels:")
	wants(t, rule, `unless on (instance, destination) weir_destination_held{reason="paused"} == 1`)
}

func TestTheGrafanaDashboardUsesSeriesThatExist(t *testing.T) {
	text, err := os.ReadFile("../docs/monitoring/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	if len(dashboard.Panels) < 10 {
		t.Fatalf("%d panels", len(dashboard.Panels))
	}
	e, ids := existingSeries(t), map[int]bool{}
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] || len(panel.Targets) == 0 {
			t.Errorf("panel %q: the id is not its own, or it shows nothing", panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			e.check(t, panel.Title, target.Expr)
		}
	}
}

// TestThePagesNameNoMetricThatDoesNotExist holds every page of docs to the
// code.
func TestThePagesNameNoMetricThatDoesNotExist(t *testing.T) {
	e := existingSeries(t)
	for _, path := range []string{"../docs/metrics.md", "../docs/alerts.md", "../docs/logs.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range selector.FindAllStringSubmatch(string(text), -1) {
			if metrics.FamilyOf(found[1], e.families).Name == "" {
				t.Errorf("%s names %s", path, found[1])
			}
		}
	}
}
