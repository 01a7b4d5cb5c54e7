// SPDX-License-Identifier: Apache-2.0

package http

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

const (
	goodToken = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	badToken  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdee"
)

// TestHTTPRequest reads the forms of a request.
//
// Attacks 45, 178, 180.
func TestHTTPRequest(t *testing.T) {
	h := newTestListener(t, func(c *receivedCall) {
		c.start(false, "")
		c.say(wire.KindStdout, fmt.Appendf(nil, "%q %s", c.exec.Args, c.exec.Cwd))
		c.end(wire.Exit{Outcome: wire.Exited})
	})
	for _, tt := range []struct{ name, body, want string }{
		{"cmd", `{"cmd": "make 'a b' \"c\" d\\ e"}`, `["make" "a b" "c" "d e"] /w`},
		{"args", `{"args": ["make", "", "a b"]}`, `["make" "" "a b"] /w`},
		{"both: args win", `{"cmd": "rm -rf /", "args": ["make"]}`, `["make"] /w`},
		{"no shell", `{"cmd": "make $(id) ; x > y | z && $HOME *"}`, `["make" "$(id)" ";" "x" ">" "y" "|" "z" "&&" "$HOME" "*"] /w`},
		{"elsewhere", `{"args": ["make"], "workdir": "/w/sub"}`, `["make"] /w/sub`},
		{"what it says of itself", `{"args": ["make"], "project": "other", "cloister": "x", "env": {"A": "b"}}`, `["make"] /w`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := post(h, tt.body)
			var got struct{ Stdout string }
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || got.Stdout != tt.want {
				t.Errorf("%d %s, want %s", w.Code, w.Body, tt.want)
			}
		})
	}
}

// TestHTTPRefuses checks that invalid requests are refused.
//
// Attacks 45, 122, 123, 172, 173, 174, 178.
func TestHTTPRefuses(t *testing.T) {
	h := newTestListener(t, func(c *receivedCall) { c.t.Errorf("a call came: %q", c.exec.Args) })
	const body = `{"args": ["make"]}`
	for _, tt := range []struct {
		name, body string
		change     func(*http.Request)
		code       int
		reason     string
	}{
		{"no token", body, header("", ""), 401, "missing token"},
		{"an empty token", body, header("X-Hostexec-Token", ""), 401, "missing token"},
		{"another token", body, header("X-Hostexec-Token", badToken), 401, "invalid token"},
		{"a part of the token", body, header("X-Cloister-Token", goodToken[:63]), 401, "invalid token"},
		{"two tokens", body, func(r *http.Request) { r.Header.Set("X-Cloister-Token", badToken) }, 401, "invalid token"},
		{"the token twice", body, func(r *http.Request) { r.Header.Add("X-Hostexec-Token", badToken) }, 401, "invalid token"},
		{"GET", "", func(r *http.Request) { r.Method = "GET" }, 405, "method not allowed: only POST /request exists"},
		{"OPTIONS, as browsers ask", "", func(r *http.Request) { r.Method = "OPTIONS" }, 405, "method not allowed: only POST /request exists"},
		{"another path", body, func(r *http.Request) { r.URL.Path = "/" }, 404, "only POST /request exists"},
		{"a rebound name", body, func(r *http.Request) { r.Host = "evil.example:9998" }, 421, "not a name of this host"},
		{"another port", body, func(r *http.Request) { r.Host = "172.17.0.1:9999" }, 421, "not a name of this host"},
		{"no port", body, func(r *http.Request) { r.Host = "172.17.0.1" }, 421, "not a name of this host"},
		{"localhost", body, func(r *http.Request) { r.Host = "localhost:9998" }, 421, "not a name of this host"},
		{"a page's request", body, func(r *http.Request) { r.Header.Set("Origin", "http://172.17.0.1:9998") }, 403, "requests from web pages are refused"},
		{"no JSON", "make", nil, 400, errNotJSON.Error()},
		{"nothing", "", nil, 400, errNotJSON.Error()},
		{"a list", `["make"]`, nil, 400, errNotJSON.Error()},
		{"no UTF-8", "{\"args\": [\"make\xff\"]}", nil, 400, "invalid request: it is not UTF-8"},
		{"two of them", body + body, nil, 400, "invalid request: there is more behind it"},
		{"two commands, in two cases", `{"cmd": "make", "CMD": "rm -rf /"}`, nil, 400, `invalid request: the key "CMD" is not known`},
		{"two commands", `{"cmd": "make", "cmd": "rm -rf /"}`, nil, 400, `invalid request: the key "cmd" is there twice`},
		{"two commands, one escaped", `{"cmd": "make", "\u0063md": "rm"}`, nil, 400, `invalid request: the key "cmd" is there twice`},
		{"two of args", `{"args": ["make"], "args": ["rm"]}`, nil, 400, `invalid request: the key "args" is there twice`},
		{"args in another case", `{"args": ["make"], "Args": ["rm"]}`, nil, 400, `invalid request: the key "Args" is not known`},
		{"a key that is not known", `{"args": ["make"], "shell": true}`, nil, 400, `invalid request: the key "shell" is not known`},
		{"twice in what is passed over", `{"args": ["make"], "env": {"A": "1", "A": "2"}}`, nil, 400, `invalid request: the key "A" is there twice`},
		{"half a pair", `{"args": ["make", "\ud800"]}`, nil, 400, `invalid request: a \u escape is half of a pair`},
		{"deep", `{"args": ["make"], "env": ` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, nil, 400, "invalid request: it is nested too deep"},
		{"deep and open", strings.Repeat(`{"env":`, 10000), nil, 400, "invalid request: it is nested too deep"},
		{"numbers", `{"args": ["make", 1]}`, nil, 400, errNotJSON.Error()},
		{"null for an argument", `{"args": ["make", null]}`, nil, 400, errNotJSON.Error()},
		{"no command", `{}`, nil, 400, errNoCommand.Error()},
		{"no arguments, which win", `{"cmd": "make", "args": []}`, nil, 400, errNoCommand.Error()},
		{"an empty command", `{"cmd": " "}`, nil, 400, errNoCommand.Error()},
		{"an open quote", `{"cmd": "make 'a"}`, nil, 400, "invalid request: " + errQuote.Error()},
		{"a backslash at the end", `{"cmd": "make \\"}`, nil, 400, "invalid request: " + errQuote.Error()},
		{"NUL", `{"args": ["make", "a\u0000b"]}`, nil, 400, errNUL.Error()},
		{"NUL in a directory", `{"args": ["make"], "workdir": "/\u0000"}`, nil, 400, errNUL.Error()},
		{"too long", `{"cmd": "` + strings.Repeat("a", maxBody) + `"}`, nil, 413, "http: request body too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*http.Request) {}
			}
			w := post(h, tt.body, change)
			want, _ := json.Marshal(tt.reason)
			if got := w.Body.String(); w.Code != tt.code || got != `{"status":"error","reason":`+string(want)+`,"exit_code":125}`+"\n" {
				t.Errorf("%d %s, want %d and %q", w.Code, got, tt.code, tt.reason)
			}
			if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers %v", w.Header())
			}
			if (tt.code == 405) != (w.Header().Get("Allow") == "POST") {
				t.Errorf("Allow: %q", w.Header().Get("Allow"))
			}
		})
	}
	for _, name := range tokenHeaders {
		if w := post(h, "", header(name, goodToken)); w.Code != 400 {
			t.Errorf("the token in %s: %d, want 400 for an empty body", name, w.Code)
		}
	}
	h.token = ""
	if w := post(h, body, header("X-Hostexec-Token", "")); w.Code != 401 {
		t.Errorf("without a configured token: %d", w.Code)
	}
}

// TestHTTPAnswers checks that each way in which a call ends becomes one of the five statuses.
func TestHTTPAnswers(t *testing.T) {
	line := func(status, reason string) string {
		return "hostexec: make: " + reason + "\n" + `{"status":"` + status + `","code":1,"reason":"` + reason + `"}` + "\n"
	}
	for _, tt := range []struct {
		name  string
		serve func(*receivedCall)
		want  string
	}{
		{"by a rule", func(c *receivedCall) { c.start(false, "^make.*$"); c.end(wire.Exit{Outcome: wire.Exited}) },
			`{"status":"auto_approved","pattern":"^make.*$","exit_code":0}`},
		{"by a person", func(c *receivedCall) {
			c.say(wire.KindNotice, []byte("hostexec: make: waiting"))
			c.start(true, "--proxy make=ask")
			c.say(wire.KindStderr, []byte("e\x00\x1b\"\\"))
			c.end(wire.Exit{Outcome: wire.Exited, Code: 2})
		}, `{"status":"approved","exit_code":2,"stderr":"e\u0000\u001b\"\\"}`},
		{"a signal", func(c *receivedCall) {
			c.start(true, "")
			c.end(wire.Exit{Outcome: wire.Signaled, Code: 143, Signal: "TERM"})
		}, `{"status":"approved","exit_code":143}`},
		{"a verb that says why", func(c *receivedCall) { c.end(wire.Exit{Outcome: wire.Exited, Code: 1, Text: "usage\n"}) },
			`{"status":"auto_approved","exit_code":1,"stderr":"usage\n"}`},
		{"denied by a person", func(c *receivedCall) {
			c.end(wire.Exit{Outcome: wire.Refused, Code: 126, Text: line("denied", "Command denied: Denied by user")})
		}, `{"status":"denied","reason":"Denied by user","exit_code":126}`},
		{"denied by a rule", func(c *receivedCall) {
			c.end(wire.Exit{Outcome: wire.Refused, Code: 127, Text: line("not_proxied", "not a proxied command")})
		}, `{"status":"denied","reason":"not a proxied command","exit_code":127}`},
		{"a job", func(c *receivedCall) {
			c.end(wire.Exit{Outcome: wire.Failed, Code: 125, Text: line("unsupported", "not there over "+c.Conn.(*hostConn).NonStreamingCarrier())})
		}, `{"status":"error","reason":"not there over HTTP","exit_code":125}`},
		{"nobody answered", func(c *receivedCall) {
			c.end(wire.Exit{Outcome: wire.TimedOut, Code: 124, Text: line("timeout", "Command timed out waiting for approval")})
		}, `{"status":"timeout","reason":"Command timed out waiting for approval","exit_code":124}`},
		{"it took too long", func(c *receivedCall) {
			c.start(false, "x")
			c.say(wire.KindStdout, []byte("partial"))
			c.end(wire.Exit{Outcome: wire.TimedOut, Code: 124, Text: line("timeout", "ended after 1s")})
		}, `{"status":"timeout","reason":"command execution timed out","exit_code":124,"stdout":"partial"}`},
		{"not there", func(c *receivedCall) {
			c.end(wire.Exit{Code: 127, Text: line("not_found", "not found on the host any more")})
		}, `{"status":"error","reason":"executable not found: make","exit_code":127}`},
		{"failed", func(c *receivedCall) { c.end(wire.Exit{Code: 125, Text: "hostexec: in its own words\n"}) },
			`{"status":"error","reason":"in its own words","exit_code":125}`},
		{"gone", func(c *receivedCall) { c.start(false, "x") },
			`{"status":"error","reason":"hostexec: the host's side of this call has gone","exit_code":125}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newTestListener(t, tt.serve)
			w := post(h, `{"args": ["make"]}`)
			code := 200
			if tt.name == "a job" {
				code = 400
			}
			if got := w.Body.String(); w.Code != code || got != tt.want+"\n" {
				t.Errorf("%d %swant %s", w.Code, got, tt.want)
			}
		})
	}
}

// TestHTTPAsks checks the request that the host receives.
func TestHTTPAsks(t *testing.T) {
	h := newTestListener(t, func(c *receivedCall) {
		if c.exec.FDs[0] != wire.FDNull || c.exec.Passed != 0 || strings.Join(c.exec.Env, " ") != "HOSTEXEC_APPROVAL_TIMEOUT=4m55s HOSTEXEC_JSON=1" {
			t.Errorf("the host is asked %+v", c.exec)
		}
		echo(c)
	})
	post(h, `{"args": ["make"]}`)
}

// TestHTTPCapped checks that a command whose output exceeds the limit goes on, and that the answer
// is marked.
//
// Attacks 141, 181.
func TestHTTPCapped(t *testing.T) {
	h := newTestListener(t, func(c *receivedCall) {
		c.start(false, "x")
		block := []byte(strings.Repeat("0123456789abcde\n", wire.MaxFrame/16))
		for range maxKept/len(block) + 10 {
			c.say(wire.KindStdout, block)
		}
		c.say(wire.KindStderr, []byte("the end"))
		c.end(wire.Exit{Outcome: wire.Exited, Code: 7})
	})
	var got struct {
		Code           int `json:"exit_code"`
		Stdout, Stderr string
		Truncated      bool
	}
	w := post(h, `{"args": ["make"]}`)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Stdout) != maxKept || got.Stderr != "the end" || got.Code != 7 || !got.Truncated {
		t.Errorf("%d bytes, %q, code %d, truncated %v", len(got.Stdout), got.Stderr, got.Code, got.Truncated)
	}
	if got.Stdout != strings.Repeat("0123456789abcde\n", maxKept/16) {
		t.Error("the kept output differs from the written output")
	}
	if n := h.freeSpace.Load(); n != maxInFiles {
		t.Errorf("%d bytes of the disk were not given back", maxInFiles-n)
	}
}

// TestHTTPNoDisk checks that a call whose output cannot be stored goes on, and that the answer is
// marked.
//
// Attack 181.
func TestHTTPNoDisk(t *testing.T) {
	h := newTestListener(t, func(c *receivedCall) {
		c.start(false, "x")
		c.say(wire.KindStdout, make([]byte, 2*maxHeld))
		c.say(wire.KindStdout, []byte("later"))
		c.end(wire.Exit{Outcome: wire.Exited})
	})
	for what, set := range map[string]func(){"no directory": func() { h.dir = "/nonexistent" }, "no space": func() { h.freeSpace.Store(1) }} {
		set()
		var got struct {
			Stdout    string
			Truncated bool
		}
		if err := json.Unmarshal(post(h, `{"args": ["make"]}`).Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if !got.Truncated || got.Stdout != strings.Repeat("\x00", maxHeld) {
			t.Errorf("%s: %d bytes, truncated %v", what, len(got.Stdout), got.Truncated)
		}
	}
}

// TestHTTPTooMany checks that calls beyond the limit are refused with an explanation.
//
// Attack 181.
func TestHTTPTooMany(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	h := newTestListener(t, func(c *receivedCall) { began <- struct{}{}; <-finish; echo(c) })
	var wg sync.WaitGroup
	for range maxCalls {
		// ends with its call.
		wg.Go(func() {
			if w := post(h, `{"args": ["make"]}`); w.Code != 200 {
				t.Errorf("a call among many: %d", w.Code)
			}
		})
		<-began
	}
	if w := post(h, `{"args": ["make"]}`); w.Code != 503 || !strings.Contains(w.Body.String(), "too many requests") {
		t.Errorf("a call beyond the limit: %d %s", w.Code, w.Body)
	}
	close(finish)
	wg.Wait()
}
