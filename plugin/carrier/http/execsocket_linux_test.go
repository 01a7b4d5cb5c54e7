// SPDX-License-Identifier: Apache-2.0

package http

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

var goodOptions = SocketOptions{Secret: strings.Repeat("a", 64), Token: goodToken, Cwd: func(workdir string) (string, error) {
	if workdir == "/home/you/app" {
		return "/w", nil
	}
	return "", ErrNoWorkdir
}}

// tools serves an exec.sock, and returns a function that sends one request line.
func tools(t *testing.T, serve func(*receivedCall)) func(line string) string {
	t.Helper()
	dir := t.TempDir()
	ln, err := socket.Bind(dir, "exec.sock", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "exec.sock")); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("exec.sock is %v, %v", fi.Mode(), err)
	}
	host(t, ListenExecSocket(ln, t.TempDir(), goodOptions), serve)
	return func(line string) string {
		conn, err := net.Dial("unix", filepath.Join(dir, "exec.sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(conn, line)
		conn.(*net.UnixConn).CloseWrite() // a caller that has no more to say is still there
		b, err := io.ReadAll(conn)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
}

// asked is a valid request with changes.
func asked(change map[string]any) string {
	m := map[string]any{"secret": goodOptions.Secret, "token": goodToken, "workdir": "/home/you/app", "command": "make", "args": []string{"test"}}
	for k, v := range change {
		m[k] = v
		if v == nil {
			delete(m, k)
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// TestExecSocket checks that faults of a request are reported in the order secret, token, workdir.
//
// Attacks 45, 183.
func TestExecSocket(t *testing.T) {
	call := tools(t, func(c *receivedCall) {
		c.start(false, "x")
		c.say(wire.KindStdout, fmt.Appendf(nil, "%q %s %q", c.exec.Args, c.exec.Cwd, c.exec.Env))
		c.end(wire.Exit{Outcome: wire.Exited, Code: 3})
	})
	ran := func(text string) string {
		b, _ := json.Marshal(text)
		return `{"status":"completed","exit_code":3,"stdout":` + string(b) + "}\n"
	}
	wrong := func(why string) string { return `{"status":"error","exit_code":125,"error":"` + why + "\"}\n" }
	const env = `["HOSTEXEC_JSON=1"]`
	for _, tt := range []struct {
		name   string
		change map[string]any
		want   string
	}{
		{"a request", nil, ran(`["make" "test"] /w ` + env)},
		{"a command line", map[string]any{"command": "make 'a b'", "args": nil}, ran(`["make" "a b"] /w ` + env)},
		{"a command with a space", map[string]any{"command": "make x", "args": []string{}}, ran(`["make x"] /w ` + env)},
		{"a variable, a time", map[string]any{"env": map[string]string{"CI": "1"}, "timeout_ms": 1500}, ran(`["make" "test"] /w ["CI=1" "HOSTEXEC_TIMEOUT=1500ms" "HOSTEXEC_JSON=1"]`)},
		{"all wrong", map[string]any{"secret": "x", "token": "x", "workdir": "/"}, wrong("invalid secret")},
		{"no secret", map[string]any{"secret": nil}, wrong("invalid secret")},
		{"token and workdir wrong", map[string]any{"token": badToken, "workdir": "/"}, wrong("invalid token")},
		{"no token", map[string]any{"token": nil}, wrong("invalid token")},
		{"workdir wrong", map[string]any{"workdir": "/etc", "command": ""}, wrong(`workdir mismatch: \"/etc\" is not a directory of the session`)},
		{"no workdir", map[string]any{"workdir": nil}, wrong(`workdir mismatch: \"\" is not a directory of the session`)},
		{"no command", map[string]any{"command": ""}, wrong("invalid request: command is required")},
		{"an open quote", map[string]any{"command": "a 'b", "args": nil}, wrong("invalid request: " + errQuote.Error())},
		{"NUL", map[string]any{"args": []string{"a\x00"}}, wrong(errNUL.Error())},
		{"no name of a variable", map[string]any{"env": map[string]string{"A=B": ""}}, wrong(`invalid request: \"A=B\" is not the name of a variable`)},
		{"a variable of ours", map[string]any{"env": map[string]string{"HOSTEXEC_JSON": "0"}}, wrong(`invalid request: \"HOSTEXEC_JSON\" is not the name of a variable`)},
		{"no time", map[string]any{"timeout_ms": -1}, wrong("invalid request: timeout_ms is not a time")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := call(asked(tt.change))
			if strings.ReplaceAll(got, `\"`, `"`) != strings.ReplaceAll(tt.want, `\"`, `"`) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	for _, line := range []string{"x\n", "[]\n", "\n"} {
		if got := call(line); got != wrong("invalid request: want one line of JSON") {
			t.Errorf("%q: %s", line, got)
		}
	}
	good := strings.TrimSuffix(strings.TrimPrefix(asked(nil), "{"), "}\n")
	for line, why := range map[string]string{
		"\"\xff\"":                                             "it is not UTF-8",
		`{` + good + `,"args":["x"]}`:                          `the key "args" is there twice`,
		`{"COMMAND":"rm",` + good + `}`:                        `the key "COMMAND" is not known`,
		`{` + good + `,"shell":true}`:                          `the key "shell" is not known`,
		`{` + good + `,"env":{"A":"1","A":"2"}}`:               `the key "A" is there twice`,
		`{` + good + `}{}`:                                     "there is more behind it",
		`{` + strings.Replace(good, "test", `\udc00`, 1) + `}`: `a \u escape is half of a pair`,
		strings.Repeat("[", 10000):                             "it is nested too deep",
	} {
		var got struct{ Status, Error string }
		if err := json.Unmarshal([]byte(call(line+"\n")), &got); err != nil || got.Status != "error" || got.Error != "invalid request: "+why {
			t.Errorf("%.100q: %+v, want %q", line, got, why)
		}
	}
	if got := call(`{"secret": "x"`); !strings.Contains(got, "does not end with a newline") {
		t.Errorf("half a line: %s", got)
	}
	if got := call(""); got != "" {
		t.Errorf("nothing: %s", got)
	}
}

// TestExecSocketAnswers checks that each way in which a call ends becomes one of the three
// statuses.
func TestExecSocketAnswers(t *testing.T) {
	for _, tt := range []struct {
		exit    wire.Exit
		started bool
		want    string
	}{
		{wire.Exit{Outcome: wire.TimedOut, Code: 124, Text: "late\n"}, true, `{"status":"timeout","exit_code":124,"stdout":"partial","error":"command execution timed out"}`},
		{wire.Exit{Outcome: wire.Refused, Code: 126, Text: `{"status":"denied","reason":"Command denied: Denied by user"}` + "\n"}, false, `{"status":"error","exit_code":126,"error":"Command denied: Denied by user"}`},
		{wire.Exit{Code: 127, Text: `{"status":"not_found","reason":"gone"}` + "\n"}, false, `{"status":"error","exit_code":127,"error":"executable not found: make"}`},
		{wire.Exit{Outcome: wire.Signaled, Code: 137, Signal: "KILL"}, true, `{"status":"completed","exit_code":137,"stdout":"partial"}`},
	} {
		call := tools(t, func(c *receivedCall) {
			if tt.started {
				c.start(true, "x")
				c.say(wire.KindStdout, []byte("partial"))
			}
			c.end(tt.exit)
		})
		if got := call(asked(nil)); got != tt.want+"\n" {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// TestExecSocketHangUp closes a caller's connection while its command runs: the command ends.
//
// Attack 182.
func TestExecSocketHangUp(t *testing.T) {
	dir := t.TempDir()
	ln, err := socket.Bind(dir, "exec.sock", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	began, ended := make(chan struct{}), make(chan struct{})
	host(t, ListenExecSocket(ln, dir, goodOptions), func(c *receivedCall) {
		c.start(false, "x")
		close(began)
		for {
			if _, err := c.Write(wire.AppendFrame(nil, wire.KindStdout, []byte("x"))); err != nil {
				close(ended)
				return
			}
		}
	})
	conn, err := net.Dial("unix", filepath.Join(dir, "exec.sock"))
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, asked(nil))
	<-began
	conn.(*net.UnixConn).CloseWrite()
	conn.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the command continues without its caller")
	}
}
