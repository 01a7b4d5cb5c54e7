// SPDX-License-Identifier: Apache-2.0

package http

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

var example = regexp.MustCompile("(?s)```http\nPOST /request\n(.*?)\n\n(\\d{3})\n(.*?)\n```")

// TestDocs sends the requests of docs/http.md and compares the answers. The test plays the command.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	h := newTestListener(t, func(c *receivedCall) {
		switch strings.Join(c.exec.Args, "|") + " " + c.exec.Cwd {
		case "make|unit test /w":
			c.start(false, "--proxy make")
			c.say(wire.KindStderr, []byte("no such target: unit test\n"))
			c.end(wire.Exit{Outcome: wire.Exited, Code: 2})
		case "git|push /w/app":
			c.start(true, "--proxy git=ask")
			c.say(wire.KindStdout, []byte("pushed\n"))
			c.end(wire.Exit{Outcome: wire.Exited})
		case "terraform|apply /w":
			c.end(wire.Exit{Outcome: wire.Refused, Code: 126, Text: `{"status":"denied","reason":"Command denied: Denied by user"}` + "\n"})
		default:
			t.Errorf("an example asks for %q in %s", c.exec.Args, c.exec.Cwd)
		}
	})
	all := example.FindAllStringSubmatch(string(doc), -1)
	if len(all) != strings.Count(string(doc), "```http\n") || len(all) == 0 {
		t.Errorf("%d examples of %d", len(all), strings.Count(string(doc), "```http\n"))
	}
	for _, e := range all {
		w := post(h, e[1])
		var got, want any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(e[3]), &want); err != nil {
			t.Fatalf("the example of %s: %v", e[1], err)
		}
		if strconv.Itoa(w.Code) != e[2] || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d %s, the example says %s %s", e[1], w.Code, w.Body, e[2], e[3])
		}
	}
}
