// SPDX-License-Identifier: Apache-2.0

package http

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// FuzzRequest checks that only a request to /request of a known host with the token becomes a call. The arguments of
// the call are those which encoding/json reads. The answer is JSON.
//
// Attack 178.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		`{"args":["make","test"]}`, `{"cmd":"make 'a b'","workdir":"/w/x"}`, `{"args":["a"],"args":["b"]}`, `{"Args":["a"]}`, `{"args":["a\u0000"]}`, `{"args":["\ud800"]} `,
	} {
		f.Add(body, "172.17.0.1:9998", "/request", goodToken)
	}
	f.Add(`{"args":["make"]}`, "evil.example", "/request/", "")
	f.Fuzz(func(t *testing.T, body, name, path, token string) {
		var exec atomic.Pointer[wire.Exec]
		h := newTestListener(t, func(c *receivedCall) { exec.Store(&c.exec); echo(c) })
		w := post(h, body, func(r *http.Request) {
			r.Host, r.URL.Path = name, path
			r.Header.Set("X-Hostexec-Token", token)
		})
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q is answered by %q", body, w.Body)
		}
		got := exec.Load()
		if got == nil {
			return
		}
		if !slices.Contains(h.hosts, name) || path != "/request" || token != goodToken {
			t.Errorf("a call to %q%q with the token %q", name, path, token)
		}
		var want struct {
			Args []string `json:"args"`
			Cmd  string   `json:"cmd"`
		}
		err := json.Unmarshal([]byte(body), &want)
		if err != nil || want.Args != nil && !slices.Equal(got.Args, want.Args) || want.Args == nil && want.Cmd == "" {
			t.Errorf("%q: a call of %q, and encoding/json reads %+v, %v", body, got.Args, want, err)
		}
	})
}

// FuzzExecSocket checks that an accepted line has secret and token. The call has no NUL bytes, and no variables of
// hostexec other than the timeout.
func FuzzExecSocket(f *testing.F) {
	f.Add(strings.TrimSuffix(asked(nil), "\n"))
	f.Add(strings.TrimSuffix(asked(map[string]any{"args": nil, "command": "make 'a b'", "env": map[string]string{"A": "1"}, "timeout_ms": 5}), "\n"))
	f.Add(strings.TrimSuffix(asked(map[string]any{"env": map[string]string{"HOSTEXEC_JSON": "1"}, "timeout_ms": -1}), "\n"))
	f.Fuzz(func(t *testing.T, line string) {
		exec, refusal := (&ExecSocket{options: goodOptions}).parse([]byte(line))
		if refusal != "" {
			return
		}
		if !strings.Contains(line, goodOptions.Secret[:32]) || !strings.Contains(line, goodToken[:32]) {
			if !strings.Contains(line, `\u`) { // a key may be written by escapes
				t.Errorf("%q is accepted", line)
			}
		}
		if len(exec.Args) == 0 || exec.Args[0] == "" || strings.ContainsRune(strings.Join(append(exec.Args, exec.Env...), ""), 0) {
			t.Errorf("%q: a call of %q with %q", line, exec.Args, exec.Env)
		}
		for _, v := range exec.Env {
			if name, _, ok := strings.Cut(v, "="); !ok || name == "" || strings.HasPrefix(name, "HOSTEXEC_") && name != "HOSTEXEC_TIMEOUT" {
				t.Errorf("%q: the variable %q", line, v)
			}
		}
	})
}
