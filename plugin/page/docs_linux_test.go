// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// example is an example in docs/api.md: a request and its reply.
type example struct {
	server, method, path, body string
	code                       int
	want                       string
}

var (
	codeBlock = regexp.MustCompile("(?s)```http ?(control)?\n(.*?)\n```")
	parts     = regexp.MustCompile(`(?s)\A([A-Z]+) (\S+)\n(.*?)\n*(\d{3})(?:\n(.*))?\z`)
)

func examples(t *testing.T, doc string) (all []example) {
	t.Helper()
	for _, m := range codeBlock.FindAllStringSubmatch(doc, -1) {
		p := parts.FindStringSubmatch(m[2])
		if p == nil {
			t.Fatalf("docs/api.md: not an example:\n%s", m[2])
		}
		code, _ := strconv.Atoi(p[4])
		all = append(all, example{m[1], p[1], p[2], strings.TrimSpace(p[3]), code, p[5]})
	}
	return all
}

// TestDocs runs each example of docs/api.md in order and compares the replies. It also checks that every
// route has an example.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	store := newStore(t)
	w := newWatcher(t, store)
	past(t, store.Audit(), w.id)
	w.runs = []control.Running{{Request: "3f1c9a0b52e87d46", Args: []string{"make", "test"}, Dir: "/home/you/app", PID: 4711, Since: time.Now()}}
	s := newPage(t, store)
	w.forbidden(t, "go", "run", ".")
	w.ask(t, "9b1d2c3e4f506172", "make", "deploy")
	w.ask(t, "0c4e71aa90bd3f55", "git", "push")
	w.ask(t, "5d10f2a98c3b7e64", "go", "vet", "./...")
	digests := map[string]string{}
	for _, q := range w.queue.Pending() {
		digests[q.ID] = q.Digest()
	}
	grant := ""
	for _, e := range examples(t, doc) {
		name := fmt.Sprintf("%s %s %s", e.server, e.method, e.path)
		for _, g := range w.queue.Grants() {
			grant = g.ID // the only grant; its id is still needed after its revocation
		}
		for _, d := range w.queue.Denials() {
			e.want = strings.ReplaceAll(e.want, "<denial>", d.ID)
		}
		e.path, e.want = strings.ReplaceAll(e.path, "<grant>", grant), strings.ReplaceAll(e.want, "<grant>", grant)
		body := strings.ReplaceAll(e.body, "<digest>", digests[path.Base(e.path)])
		code, got := s.ask(t, store.Dir(w.id), e, body)
		if code != e.code {
			t.Errorf("%s = %d, the example says %d: %s", name, code, e.code, got)
			continue
		}
		if e.want == "" && strings.TrimSpace(got) == "" {
			continue
		}
		var have, want any
		if err := json.Unmarshal([]byte(got), &have); err != nil {
			t.Errorf("%s: %v: %s", name, err, got)
		}
		if err := json.Unmarshal([]byte(e.want), &want); err != nil {
			t.Errorf("%s: the example: %v: %s", name, err, e.want)
		}
		for _, d := range differences("", have, want) {
			t.Errorf("%s:%s", name, d)
		}
	}
	for route := range s.routes() {
		if name := strings.TrimSuffix(route, "{$}"); !strings.Contains(doc, "### "+name+"\n") && !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/api.md says nothing of the page's %s", route)
		}
	}
	routesOfControl(t, doc[strings.Index(doc, "## The control socket"):])
}

// ask sends an example's request to the server that it is for.
func (s *served) ask(t *testing.T, dir string, e example, body string) (int, string) {
	t.Helper()
	if e.server == "" {
		a := s.try(e.method, e.path, body, nil)
		return a.code, a.body
	}
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return state.Dial(dir, "control.sock")
	}}
	req, err := http.NewRequest(e.method, "http://watcher"+e.path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// routesOfControl checks that doc contains the routes in the package comment of control.
func routesOfControl(t *testing.T, doc string) {
	t.Helper()
	src, err := os.ReadFile("../control/control.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^//\t(GET|POST|DELETE) +(/\S+)`).FindAllStringSubmatch(string(src), -1)
	for _, m := range found {
		if !strings.Contains(doc, m[1]+" "+m[2]) {
			t.Errorf("docs/api.md says nothing of the control socket's %s %s", m[1], m[2])
		}
	}
	if len(found) < 9 {
		t.Errorf("the control package says of itself %q", found)
	}
}

// exact are the fields whose values must equal the example. For other fields, only the types are compared.
var exact = []string{"status", "error", "kind", "cmd", "args", "state", "carrier", "exit", "seconds", "calls", "code"}

// differences returns the differences between a reply and its example. An example object that has only an
// id is abridged.
func differences(at string, have, want any) (all []string) {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return []string{at + " is no object"}
		}
		abridged := len(want) == 1 && want["id"] != nil
		for _, name := range slices.Sorted(maps.Keys(have)) {
			if _, ok := want[name]; !ok && !abridged {
				all = append(all, fmt.Sprintf("%s.%s is not in the example", at, name))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			switch v, ok := have[name]; {
			case !ok:
				all = append(all, fmt.Sprintf("%s.%s is only in the example", at, name))
			case slices.Contains(exact, name) && want[name] != "<digest>":
				if !reflect.DeepEqual(v, want[name]) {
					all = append(all, fmt.Sprintf("%s.%s is %v, the example says %v", at, name, v, want[name]))
				}
			default:
				all = append(all, differences(at+"."+name, v, want[name])...)
			}
		}
	case []any:
		have, ok := have.([]any)
		if !ok || len(want) > 0 && len(have) == 0 {
			return []string{at + " is no list, or an empty one"}
		}
		if len(want) > 0 {
			return differences(at+"[]", have[0], want[0])
		}
	default:
		if reflect.TypeOf(have) != reflect.TypeOf(want) {
			return []string{fmt.Sprintf("%s is %v, the example says %v", at, have, want)}
		}
	}
	return all
}
