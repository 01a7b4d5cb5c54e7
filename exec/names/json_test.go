// SPDX-License-Identifier: Apache-2.0

package names

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

type request struct {
	Cmd  *string           `json:"cmd"`
	Args []*string         `json:"args,omitempty"`
	Env  map[string]string `json:"env"`
	N    int
	Sub  *struct {
		Any json.RawMessage `json:"any"`
	} `json:"sub"`
	//lint:ignore U1000 an unexported field that no key may set
	hidden int
}

// TestDecode checks that texts that two JSON parsers could read differently are refused.
//
// Attack 45.
func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, text, err string }{
		{"plain", `{"cmd": "make"}`, ""},
		{"all of it", `{"cmd": null, "args": ["a", null], "env": {"PATH": "/", "path": "x"}, "N": 3, "sub": {"any": [{"x": {}}]}}`, ""},
		{"space around it", " \n{}\r\n ", ""},
		{"nothing of it", `null`, ""},
		{"a pair", `{"cmd": "\ud83d\ude00 \\ud83d \"\u0000"}`, ""},

		{"the same key twice", `{"cmd": "ls", "cmd": "rm"}`, `the key "cmd" is there twice`},
		{"escaped the second time", `{"cmd": "ls", "\u0063md": "rm"}`, `the key "cmd" is there twice`},
		{"in another case", `{"cmd": "ls", "CMD": "rm"}`, `the key "CMD" is not known`},
		{"first in another case", `{"Cmd": "ls", "cmd": "rm"}`, `the key "Cmd" is not known`},
		{"in another case alone", `{"CMD": "rm"}`, `the key "CMD" is not known`},
		{"a name of Go's", `{"Args": []}`, `the key "Args" is not known`},
		{"a letter that folds", `{"arg` + "\u017f" + `": []}`, `the key "arg\u017f" is not known`},
		{"unknown", `{"cmd": "ls", "shell": true}`, `the key "shell" is not known`},
		{"not exported", `{"hidden": 1}`, `the key "hidden" is not known`},
		{"the empty key", `{"": 1}`, `the key "" is not known`},
		{"a key with an escape sequence", `{"\u001b[2J": 1}`, `the key "\x1b[2J" is not known`},
		{"twice in a map", `{"env": {"A": "1", "A": "2"}}`, `the key "A" is there twice`},
		{"twice where anything may be", `{"sub": {"any": [{"a": 1, "a": 2}]}}`, `the key "a" is there twice`},
		{"unknown further in", `{"sub": {"more": 1}}`, `the key "more" is not known`},

		{"two values", `{} {}`, "there is more behind it"},
		{"a bracket behind it", `{}]`, "there is more behind it"},
		{"a NUL behind it", "{}\x00", "there is more behind it"},
		{"nothing", "", "unexpected EOF"},
		{"half", `{"cmd": "ls"`, "EOF"},
		{"no UTF-8", "{\"cmd\": \"\xff\"}", "it is not UTF-8"},
		{"a byte order mark", "\ufeff{}", "invalid character"},
		{"a comma too many", `{"args": ["a",]}`, "invalid character"},
		{"a comma at the end", `{"cmd": "a",}`, "invalid character"},
		{"no comma", `{"cmd": "a" "N": 1}`, "invalid character"},
		{"single quotes", `{'cmd': 'a'}`, "invalid character"},
		{"a comment", `{/**/}`, "invalid character"},
		{"NaN", `{"N": NaN}`, "invalid character"},
		{"a raw newline", "{\"cmd\": \"a\nb\"}", "invalid character"},
		{"half of a pair", `{"cmd": "\ud800"}`, "half of a pair"},
		{"the other half", `{"cmd": "\udc00"}`, "half of a pair"},
		{"halves apart", `{"cmd": "\ud83d x \ude00"}`, "half of a pair"},
		{"the first half twice", `{"cmd": "\ud83d\ud83d\ude00"}`, "half of a pair"},
		{"half of a pair in a key", `{"env": {"\ud800": ""}}`, "half of a pair"},
		{"half before an escape", `{"cmd": "\ud83d\n"}`, "half of a pair"},
		{"deep arrays", `{"args": ` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, "nested too deep"},
		{"deep objects", strings.Repeat(`{"sub":{"any":`, 1) + strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10002), "nested too deep"},
		{"another type", `{"cmd": 1}`, "cannot unmarshal number"},
		{"a number too large", `{"N": 1e400}`, "cannot unmarshal number"},
		{"a list", `["make"]`, "cannot unmarshal array"},
	} {
		var got request
		err := DecodeJSON([]byte(tt.text), &got)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
}

// FuzzDecode checks that the result of Decode equals that of encoding/json.
//
// Attack 45.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"cmd": "\ud83d\ude00", "args": ["a", null]}`, `{"env": {"A": "b"}, "N": 4}`, `{"cmd":"a","CMD":"b"}`, `[]`, `{"sub":{"any":{}}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want request
		if DecodeJSON(text, &got) != nil {
			return
		}
		if err := json.Unmarshal(text, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Decode(%q) = %+v, want %+v, %v", text, got, want, err)
		}
	})
}

// TestASCII checks that control characters are escaped and that JSON parsers read the same value.
func TestASCII(t *testing.T) {
	if got := string(ASCIIJSON([]byte("a\x7f\u009b\U0001f600"))); got != `a\u007f\u009b\ud83d\ude00` {
		t.Errorf("ASCIIJSON = %s", got)
	}
	if got := string(ASCIIJSON([]byte("a\tb\n\x1b[2J\r\x00"))); got != "a\tb\n"+`\u001b[2J\u000d\u0000` {
		t.Errorf("ASCIIJSON = %s", got)
	}
	for _, s := range []string{"plain", "\x7f\u0080\u009b2J\u009f", "\u202e\u2066\u200b\ufeff\u3164", "ü€", "😀\U000e0041", "a\x1b\x00\"\\", "\xff"} {
		b, err := json.MarshalIndent(map[string]string{s: s}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got := ASCIIJSON(b)
		for _, c := range got {
			if c != '\n' && (c < ' ' || c > '~') {
				t.Errorf("ASCII(%q) = %q", b, got)
				break
			}
		}
		var before, after map[string]string
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &before); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("ASCII(%q) is read as %q", b, after)
		}
	}
}
