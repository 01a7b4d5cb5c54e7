// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
)

// Attack 246.
func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, text, want, err string }{
		{"plain", `{"Image":"x","Cmd":["a"]}`, `{"Cmd":["a"],"Image":"x"}`, ""},
		{"numbers", `{"StopTimeout":1e2,"HostConfig":{"Memory":9007199254740993,"NanoCpus":-0}}`, `{"HostConfig":{"Memory":9007199254740993,"NanoCpus":-0},"StopTimeout":1e2}`, ""},
		{"unknown fields", `{"New":{"a":{"b":[[{}]]}},"HostConfig":{"New":null}}`, `{"HostConfig":{"New":null},"New":{"a":{"b":[[{}]]}}}`, ""},
		{"the API's spelling", `{"image":"x","hostconfig":{"MOUNTS":[{"source":"/a"}],"memory":1},"\u0065nv":[]}`, `{"Env":[],"HostConfig":{"Memory":1,"Mounts":[{"Source":"/a"}]},"Image":"x"}`, ""},
		{"letters that fold", "{\"Host\u0043onfig\":{\"ipcmode\":\"x\",\"Bind\u017f\":[]}}", `{"HostConfig":{"Binds":[],"IpcMode":"x"}}`, ""},
		{"maps", `{"Labels":{"a":"1","A":"2"},"ExposedPorts":{"80/tcp":{},"80/TCP":{}},"HostConfig":{"Sysctls":{"x":"","X":""},"PortBindings":{"1":[{"hostip":""}]}}}`,
			`{"ExposedPorts":{"80/TCP":{},"80/tcp":{}},"HostConfig":{"PortBindings":{"1":[{"HostIp":""}]},"Sysctls":{"X":"","x":""}},"Labels":{"A":"2","a":"1"}}`, ""},
		{"networks", `{"NetworkingConfig":{"EndpointsConfig":{"n":{"aliases":[]},"N":{}}}}`, `{"NetworkingConfig":{"EndpointsConfig":{"N":{},"n":{"Aliases":[]}}}}`, ""},

		{"the same key twice", `{"Image":"a","Image":"b"}`, "", "twice"},
		{"escaped", `{"Image":"a","\u0049mage":"b"}`, "", "twice"},
		{"in another case", `{"HostConfig":{},"hostconfig":{}}`, "", "twice"},
		{"by a letter that folds", "{\"HostConfig\":{\"Binds\":[],\"Bind\u017f\":[]}}", "", "twice"},
		{"unknown in two cases", `{"New":1,"new":2}`, "", "twice"},
		{"inside", `{"HostConfig":{"Privileged":false,"privileged":true}}`, "", "twice"},
		{"inside a list", `{"HostConfig":{"Mounts":[{"Source":"/a","SOURCE":"/"}]}}`, "", "twice"},
		{"inside of unknown ones", `{"HostConfig":{"New":[{"a":1,"A":2}]}}`, "", "twice"},
		{"in a map's value", `{"NetworkingConfig":{"EndpointsConfig":{"n":{"Links":[],"links":[]}}}}`, "", "twice"},
		{"of a map", `{"Labels":{"a":"1","a":"2"}}`, "", "twice"},
		{"invalid UTF-8", "{\"a\xff\":1,\"a\xfe\":2}", "", "twice"},
		{"two values", `{}{}`, "", "more after"},
		{"a list", `[]`, "", "not a JSON object"},
		{"null", `null`, "", "not a JSON object"},
		{"half", `{"a":`, "", "unexpected EOF"},
		{"deep", strings.Repeat(`{"a":`, 100), "", "64 levels"},
		{"deep lists", `{"a":` + strings.Repeat(`[`, 100), "", "64 levels"},
	} {
		tree, err := decode([]byte(tt.text))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.err)
			}
			continue
		}
		got, eerr := encode(tree)
		if err != nil || eerr != nil || string(got) != tt.want {
			t.Errorf("%s: %s (%v, %v), want %s", tt.name, got, err, eerr, tt.want)
		}
	}
}

// TestDecodeManyParts checks that a request of many short parts is refused before it takes 8 times its
// size in memory. A large request of long parts passes.
//
// Attack 267.
func TestDecodeManyParts(t *testing.T) {
	nested := strings.Repeat(`{"a":`, maxDepth-3) + "1" + strings.Repeat("}", maxDepth-3)
	fill := func(before, part, after string) string {
		return before + strings.Repeat(part+",", maxBody/(len(part)+1)-2) + part + after
	}
	var keys strings.Builder
	for i := 0; keys.Len() < maxBody-20; i++ {
		fmt.Fprintf(&keys, `"%x":0,`, i)
	}
	for name, text := range map[string]string{
		"numbers": fill(`{"Cmd":[`, "1", "]}"), "empty objects": fill(`{"HostConfig":{"Mounts":[`, "{}", "]}}"),
		"nested": fill(`{"New":[`, nested, "]}"), "keys": `{"Labels":{` + keys.String() + `"end":0}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode([]byte(text))
		runtime.ReadMemStats(&after)
		if err == nil || err.Error() != "it has more than 200000 keys and values" {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8*uint64(len(text)) {
			t.Errorf("%s: a request of %d bytes has taken %d bytes of memory", name, len(text), took)
		}
	}
	long := strings.Repeat("x", 60)
	var env, labels []string
	for i := range 40_000 {
		env, labels = append(env, fmt.Sprintf(`"V%d=%s"`, i, long)), append(labels, fmt.Sprintf(`"l%d":"%s"`, i, long))
	}
	tree, err := decode([]byte(`{"Env":[` + strings.Join(env, ",") + `],"Labels":{` + strings.Join(labels, ",") + `}}`))
	if err != nil || len(tree["Env"].([]any)) != len(env) || len(tree["Labels"].(map[string]any)) != len(labels) {
		t.Errorf("a request with %d variables and as many labels: %v", len(env), err)
	}
}

// FuzzDecode checks that the engine's decoder reads the written body as it reads the original. That
// decoder is encoding/json: it ignores the case of keys, and the last of several equal keys counts.
//
// Attack 246.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"Image":"x","hostconfig":{"Binds":["/:/x"]}}`, `{"HostConfig":{},"hostconfig":{}}`, `{"Labels":{"a":"1","A":"2"}}`,
		`{"Cmd":"a b","Healthcheck":{"Interval":1e3}}`, "{\"Bind\u017f\":[]}", `{"a":"\ud800","\ud800":1}`, "{} ", `{"HostConfig":{"Mounts":[{"type":"bind"}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := decode(text)
		if err != nil {
			return
		}
		written, err := encode(tree)
		if err != nil {
			t.Fatalf("%q is read, and not written: %v", text, err)
		}
		if again, err := decode(written); err != nil || !reflect.DeepEqual(again, tree) {
			t.Fatalf("%q becomes %q, which is read as %v, %v", text, written, again, err)
		}
		var want, got container.CreateRequest
		werr, gerr := json.Unmarshal(text, &want), json.Unmarshal(written, &got)
		if (werr == nil) != (gerr == nil) {
			t.Fatalf("an engine reads %q with %v, and %q with %v", text, werr, written, gerr)
		}
		if werr == nil && !reflect.DeepEqual(want, got) {
			t.Fatalf("an engine reads %q as %+v, and %q as %+v", text, want, written, got)
		}
	})
}
