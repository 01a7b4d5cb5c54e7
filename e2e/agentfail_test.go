// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// frontEngine is the machine's engine behind a socket of its own, on which some requests
// are answered otherwise.
func frontEngine(t *testing.T, h *Host, intercept func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	sock := filepath.Join(h.Home, "front.sock")
	ln, err := net.Listen("unix", sock)
	check(t, err)
	check(t, os.Chmod(sock, 0o666))
	proxy := &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), // of requests that were given up
		Rewrite:  func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", "/var/run/docker.sock")
		}},
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !intercept(w, r) {
			proxy.ServeHTTP(w, r)
		}
	})}
	// ends when the server is closed, with the test.
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	return "unix://" + sock
}

// agentFailure runs an agent in a container that cannot run, as text and as JSON, and wants
// nothing of it to stay.
func agentFailure(t *testing.T, h *Host, kind, text string, code int, args ...string) {
	t.Helper()
	r := h.Docker(t, args...)
	want(t, "code", r.Code, code)
	want(t, "stdout", r.Out, "")
	if !strings.Contains(strings.ReplaceAll(r.Err, "\nhostexec: ", "\n"), text) || strings.Contains(r.Err, "\n\n") {
		t.Errorf("stderr %q, want %q in it", r.Err, text)
	}
	r = h.Docker(t, append([]string{"hostexec", "agent", "--json"}, args[2:]...)...)
	want(t, "code with --json", r.Code, code)
	var e struct {
		Type, Message string
		Cause         *string
	}
	lines := strings.Split(strings.TrimSpace(r.Err), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil || e.Cause == nil {
		t.Errorf("--json: %v: %q", err, r.Err)
	}
	want(t, "type", e.Type, kind)
	if !strings.Contains(e.Message, text) {
		t.Errorf("message %q, want %q in it", e.Message, text)
	}
	h.agentless(t)
	left, _ := filepath.Glob(filepath.Join(h.State, "workspaces", "*"))
	if kind != "container_exited" && len(left) > 0 {
		t.Errorf("workspaces are left: %q", left)
	}
}

// TestIntegrationAgentFails checks that each failure is reported at once, with the type for programs, and
// undone.
func TestIntegrationAgentFails(t *testing.T) {
	const daemon = "Cannot connect to Docker daemon. Is Docker running? Check: docker ps"
	for _, shared := range anyUser(t) {
		h := newHost(t, shared.cred != nil)
		contained := agentArgs(t, "container", "busybox")
		front := func(t *testing.T, match string, answer func(w http.ResponseWriter, r *http.Request)) []string {
			h := newHost(t, h.cred != nil)
			host := frontEngine(t, h, func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, match) {
					return false
				}
				answer(w, r)
				return true
			})
			return append([]string{"--host", host}, contained...)
		}
		t.Run(h.Name+"/no engine", func(t *testing.T) {
			h := newHost(t, h.cred != nil)
			h.Env = []string{"DOCKER_HOST=unix:///nonexistent/docker.sock"}
			start := time.Now()
			r := h.Docker(t, contained...)
			want(t, "code", r.Code, 125)
			if took := time.Since(start); took > patience || !strings.Contains(r.Err, daemon) {
				t.Errorf("after %s: %q", took, r.Err)
			}
			h.quiet(t, patience)
		})
		t.Run(h.Name+"/an engine that does not answer", func(t *testing.T) {
			if h.cred != nil {
				return // five seconds are enough once
			}
			frontFailure(t, h, front(t, "/_ping", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "docker_unavailable", daemon, "")
		})
		t.Run(h.Name+"/no image", func(t *testing.T) {
			agentFailure(t, h, "image_not_found", "Docker image 'hostexec-e2e/none:x' not found. Build it with: docker build -t hostexec-e2e/none:x .", 125,
				"hostexec", "agent", "--mode", "container", "--image", "hostexec-e2e/none:x")
		})
		t.Run(h.Name+"/attach", func(t *testing.T) {
			args := front(t, "/attach", func(w http.ResponseWriter, r *http.Request) { http.Error(w, `{"message":"no such luck"}`, 500) })
			frontFailure(t, h, args, "attach_failed", "Failed to attach to container stdio: ", "500")
		})
		t.Run(h.Name+"/no start", func(t *testing.T) {
			args := front(t, "/start", func(w http.ResponseWriter, r *http.Request) { http.Error(w, `{"message":"no such luck"}`, 500) })
			frontFailure(t, h, args, "failed", "start the container: ", "no such luck")
		})
		for _, step := range []string{"/create", "/attach", "/start"} {
			t.Run(h.Name+"/startup timeout at "+step, func(t *testing.T) {
				args := front(t, step, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
				file := h.Write(t, h.Work, "slow.yaml", "agent: {container: {startup_timeout_seconds: 1}}\n", 0o644)
				frontFailure(t, h, append(args, "--config", file), "startup_timeout", "Container did not start within 1s", "")
			})
		}
		t.Run(h.Name+"/startup timeout at the wait", func(t *testing.T) {
			var waits atomic.Int32 // the watcher's is the first
			host := frontEngine(t, newHost(t, h.cred != nil), func(_ http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/wait") || waits.Add(1) == 1 {
					return false
				}
				<-r.Context().Done()
				return true
			})
			file := h.Write(t, h.Work, "slow.yaml", "agent: {container: {startup_timeout_seconds: 2}}\n", 0o644)
			frontFailure(t, h, append([]string{"--host", host}, append(contained, "--config", file)...), "startup_timeout", "Container did not start within 2s", "")
		})
		t.Run(h.Name+"/no program", func(t *testing.T) {
			r := h.Docker(t, append(contained, "--", "/no/such/program")...)
			if r.Code != 125 || !strings.Contains(r.Err, "/no/such/program") {
				t.Errorf("%v", r)
			}
			h.agentless(t)
			r = h.Docker(t, agentArgs(t, "process", "", "--", "nosuchprogram")...)
			if r.Code != 127 || !strings.HasPrefix(r.Err, "hostexec: agent command 'nosuchprogram' not found in PATH\nhostexec: hint: ") {
				t.Errorf("%v", r)
			}
			r = h.Docker(t, agentArgs(t, "process", "", "--", "/no/such/program")...)
			if r.Code != 127 || !strings.HasPrefix(r.Err, "hostexec: agent command /no/such/program: no such file or directory\nhostexec: hint: ") {
				t.Errorf("%v", r)
			}
		})
	}
}

// frontFailure is agentFailure without the text of the test's engine proxy.
func frontFailure(t *testing.T, h *Host, args []string, kind, text, more string) {
	t.Helper()
	args = append([]string{args[0], args[1], args[2], args[3], "--json"}, args[4:]...)
	r := h.Docker(t, args...)
	want(t, "code", r.Code, 125)
	var e struct{ Type, Message, Cause string }
	check(t, json.Unmarshal([]byte(r.Err), &e))
	want(t, "type", e.Type, kind)
	if !strings.HasPrefix(e.Message, text) || !strings.Contains(e.Message, more) {
		t.Errorf("message %q, want %q, %q", e.Message, text, more)
	}
	h.agentless(t)
	left, _ := filepath.Glob(filepath.Join(h.State, "workspaces", "*"))
	want(t, "workspaces", len(left), 0)
}

// TestIntegrationAgentPull checks that no image is pulled without --pull.
func TestIntegrationAgentPull(t *testing.T) {
	h := newHost(t, false)
	name := unique("pull")
	ref := registry(t, name) + "/" + name
	t.Cleanup(func() { h.Docker(t, "rmi", "-f", ref) })
	args := []string{"hostexec", "agent", "--mode", "container", "--image", ref, "--label", runLabel, "--network", "none"}
	run := []string{"--", "echo", "out"}
	agentFailure(t, h, "image_not_found", "Docker image '"+ref+"' not found. Build it with: docker build -t "+ref+" .", 125, append(args, run...)...)
	r := h.Docker(t, append(append(args, "--pull"), run...)...)
	if r.Code != 0 {
		t.Fatalf("with --pull: %v", r)
	}
	want(t, "stdout is the agent's alone", r.Out, "out\n")
	want(t, "once it is there", h.Docker(t, append(args, run...)...), Result{Out: "out\n"})
	h.agentless(t)
}

// TestIntegrationAgentExits ends a container at once, with more to say than is shown.
func TestIntegrationAgentExits(t *testing.T) {
	for _, shared := range dockerUsers(t) {
		t.Run(shared.Name, func(t *testing.T) {
			h := newHost(t, shared.cred != nil)
			var lines strings.Builder
			for i := range 50 {
				fmt.Fprintf(&lines, "\nline %d", i+10)
			}
			const text = "Container exited with code 3. Last 50 log lines:"
			script := `i=0; while [ $i -lt 60 ]; do echo line $i; i=$((i+1)); done; exit 3`
			args := agentArgs(t, "container", "busybox", "--", "sh", "-c", script)
			r := h.Docker(t, args...)
			want(t, "code", r.Code, 3)
			want(t, "lines of stdout", strings.Count(r.Out, "\n"), 60)
			want(t, "stderr", strings.ReplaceAll(r.Err, "\nhostexec: ", "\n"), "hostexec: "+text+lines.String()+"\n")
			r = h.Docker(t, append([]string{"hostexec", "agent", "--json"}, args[2:]...)...)
			var e struct{ Type, Message string }
			check(t, json.Unmarshal([]byte(r.Err), &e))
			want(t, "type", e.Type, "container_exited")
			want(t, "message", e.Message, text+lines.String())

			r = h.Docker(t, agentArgs(t, "container", "busybox", "--", "sh", "-c", `printf '\033[2Jred\n' >&2; exit 4`)...)
			want(t, "what is shown again is printable", strings.HasSuffix(r.Err, "\nhostexec: \\x1b[2Jred\n"), true)
			want(t, "no dump of a good end", h.Docker(t, agentArgs(t, "container", "busybox", "--", "sh", "-c", "echo err >&2")...).Err, "err\n")
			h.agentless(t)
		})
	}
}

// TestIntegrationAgentStderrUnread checks that an agent answers although it writes more stderr than the buffers
// hold and nobody reads it.
func TestIntegrationAgentStderrUnread(t *testing.T) {
	for _, shared := range dockerUsers(t) {
		t.Run(shared.Name, func(t *testing.T) {
			h := newHost(t, shared.cred != nil)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			cmd := h.Command(ctx, "docker", agentArgs(t, "container", "empty", echo(t, "container")...)...)
			unread, err := cmd.StderrPipe()
			check(t, err)
			in, err := cmd.StdinPipe()
			check(t, err)
			out, err := cmd.StdoutPipe()
			check(t, err)
			check(t, cmd.Start())
			a := &Call{In: in, lines: make(chan string, 16), end: make(chan int, 1)}
			// ends with the agent, below.
			go a.follow(cmd, out)
			want(t, "answer", a.ask(t, "fill", "16777216"), answered("16777216"))
			want(t, "answer", a.ask(t, "say", `"still here"`), answered(`"still here"`))
			want(t, "code", a.Wait(t).Code, 0)
			unread.Close()
			h.agentless(t)
		})
	}
}
