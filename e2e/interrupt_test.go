// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestIntegrationInterruptVerbs types ^C at waiting verbs, in the container and on the host. Each
// ends at once as a program that ^C ends, and the processes that it started end too.
func TestIntegrationInterruptVerbs(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "hsh=/bin/sh", "--proxy-shell")
	c.Sh(t, "hostexec session create s; hostexec session exec s -- :")
	job, _, _ := strings.Cut(c.Exec(t, "hostexec", "-d", "hsh", "-c", "echo said; exec sleep 1000").Out, " ")
	const text = "echo said; exec sleep 1000"
	verbs := map[string]func() *Term{
		"exec":  func() *Term { return c.Term(t, "hostexec", "session", "exec", "s", "--", "("+text+")") },
		"start": func() *Term { return c.Term(t, "hostexec", "session", "start", "s", "--", text) },
		"logs":  func() *Term { return c.Term(t, "hostexec", "logs", "-f", job) },
		"on the host, exec": func() *Term {
			return h.term(t, "docker", "hostexec", "shell", "exec", c.Session, "s", "--", "("+text+")")
		},
		"on the host, start": func() *Term { return h.term(t, "docker", "hostexec", "shell", "start", c.Session, "s", "--", text) },
		"on the host, logs":  func() *Term { return h.term(t, "docker", "hostexec", "logs", "--job", job, "-f") },
	}
	for name, begin := range verbs {
		m := begin()
		m.Expect(t, "said\r\n")
		m.Type(t, "\x03")
		want(t, name+": code", m.Wait(t), 130)
	}
	eventually(t, patience, "the audit log has the code of each text", func() bool {
		return len(h.Audit(t, "COMPLETE", "echo said; exec sleep 1000", "shell ", "signal=INT exit=130 ")) == 4
	})
	for _, verb := range []string{"exec", "start"} {
		m := h.term(t, "docker", "hostexec", "shell", verb, "--json", c.Session, "s", "--", "(echo said; exec sleep 1001)")
		eventually(t, patience, "the text runs", func() bool {
			return strings.Contains(h.Must(t, "hostexec", "ps"), "sleep 1001")
		})
		m.Type(t, "\x03")
		m.Expect(t, `"error":"its caller got SIGINT"`)
		want(t, verb+" --json: code", m.Wait(t), 130)
	}
	eventually(t, patience, "the job alone runs", func() bool {
		return strings.Count(c.Exec(t, "hostexec", "ps").Out, " running ") == 1
	})
}

// TestIntegrationInterruptedAttach types ^C while the engine answers a request of attach. attach ends without a word, as
// a program that ^C ends, and nothing stays in the container, although the engine has copied the shims.
func TestIntegrationInterruptedAttach(t *testing.T) {
	for _, method := range []string{http.MethodHead, http.MethodPut} { // it looks for files, and copies the shims
		t.Run(method, func(t *testing.T) {
			h, machine := newHost(t, false), newHost(t, false)
			c := h.startUnknown(t)
			c.Sh(t, `mkdir -p /run /usr/local/bin`)
			const look = `ls -A /run /usr/local/bin`
			before := c.Sh(t, look).Out
			var once sync.Once
			reached := make(chan struct{})
			h.Env = []string{"DOCKER_HOST=" + frontEngine(t, h, func(_ http.ResponseWriter, r *http.Request) bool {
				holds := false
				if r.Method == method && strings.HasSuffix(r.URL.Path, "/archive") {
					once.Do(func() { holds = true })
				}
				if !holds {
					return false
				}
				files, err := io.ReadAll(r.Body)
				if err != nil || len(files) > 0 && machine.feed(t, string(files), "docker", "cp", "-", c.ID+":/").Code != 0 {
					t.Errorf("the engine did not get the shims: %v", err)
				}
				close(reached)
				<-r.Context().Done()
				return true
			})}
			m := h.term(t, "docker", "hostexec", "attach", "--proxy", "hsh=/bin/sh", c.ID)
			<-reached
			m.Type(t, "\x03")
			want(t, "code", m.Wait(t), 130)
			want(t, "what it said", m.seen, "^C")
			want(t, "what is left", c.Sh(t, look).Out, before)
			want(t, "sessions", len(h.Sessions(t)), 0)
		})
	}
}

// TestIntegrationInterruptedBind ends attach at many moments after it has copied the shims, while its watcher takes the
// container. Either attach had returned the session's id, or it exits with 130. No process, session or file stays.
func TestIntegrationInterruptedBind(t *testing.T) {
	h := newHost(t, false)
	c := h.startUnknown(t)
	c.Sh(t, `mkdir -p /run /usr/local/bin`)
	const look = `ls -A /run /usr/local/bin`
	before := c.Sh(t, look).Out
	copied := make(chan struct{}, 1)
	h.Env = []string{"DOCKER_HOST=" + frontEngine(t, h, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			select { // the removal of the shims copies a program, too
			case copied <- struct{}{}:
			default:
			}
		}
		return false
	})}
	for after := time.Duration(0); after <= 200*time.Millisecond; after += 40 * time.Millisecond {
		select { // of the attach before
		case <-copied:
		default:
		}
		m := h.term(t, "docker", "hostexec", "attach", "--proxy", "hsh=/bin/sh", c.ID)
		select {
		case <-copied:
		case <-time.After(patience):
			t.Fatal("attach copies no shims")
		}
		<-time.After(after) // the moment is what is tested
		m.Type(t, "\x03")
		if code := m.Wait(t); code != 130 && code != 0 {
			t.Errorf("^C after %s: code %d, and it said %q", after, code, m.seen)
		}
		want(t, "what is left after "+strings.TrimSpace(m.seen), c.Sh(t, look).Out, before)
		h.quiet(t, leaves+grace)
	}
}

// TestIntegrationSignalText sends signals to the caller of a text on the host, or to its docker. The audit log has the
// caller's code.
func TestIntegrationSignalText(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy-shell")
	h.Must(t, "hostexec", "shell", "create", c.Session, "s")
	for _, program := range []string{"docker", pluginPath(t)} {
		for sig, name := range map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP"} {
			text := fmt.Sprintf("echo on; exec sleep 1000; %s %d", filepath.Base(program), sig)
			cmd := h.Command(t.Context(), program, "hostexec", "shell", "start", c.Session, "s", "--", text)
			out, err := cmd.StdoutPipe()
			check(t, err)
			check(t, cmd.Start())
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "on\n" {
				t.Fatalf("%s prints %q, %v", text, line, err)
			}
			check(t, cmd.Process.Signal(sig))
			cmd.Wait() // the code tells
			want(t, text+": code", exitCode(cmd.ProcessState), 128+int(sig))
			eventually(t, patience, text+": COMPLETE", func() bool {
				return len(h.Audit(t, "COMPLETE", text, fmt.Sprintf("signal=%s exit=%d ", name, 128+int(sig)))) == 1
			})
		}
	}
}

// TestIntegrationHangUp sends HUP, as a closed terminal does, to verbs that wait. Each ends as by other signals, and
// leaves its terminal as it was.
func TestIntegrationHangUp(t *testing.T) {
	h := newHost(t, false)
	want(t, "code of proxy", h.Proxy(t, "sh=/bin/sh").Stop(t, syscall.SIGHUP), 0)

	const script = `before=$(stty -g); sh -c 'echo $$; exec "$0" pending --watch' "$0"; echo code $?; test "$before" = "$(stty -g)" && echo same`
	m := h.term(t, "sh", "-c", script, pluginPath(t))
	pid, _, _ := strings.Cut(m.Expect(t, "q leaves.\r\n"), "\r\n")
	hold(t, atoi(t, pid)).Signal(t, syscall.SIGHUP)
	m.Expect(t, "code 129\r\nsame\r\n")
	want(t, "code", m.Wait(t), 0)
}

// TestIntegrationBackground starts verbs that make the terminal raw in the background, as timeout does. TERM ends them
// before they have created anything.
func TestIntegrationBackground(t *testing.T) {
	h := newHost(t, false)
	for _, verb := range []string{"pending --watch", "run --rm -it --label " + runLabel + " " + image(t, "full") + " /probe hold"} {
		const script = `before=$(stty -g); timeout -k 20 1 $0; echo code $?; test "$before" = "$(stty -g)" && echo same`
		m := h.term(t, "sh", "-c", script, pluginPath(t)+" hostexec "+verb)
		m.Expect(t, "code 124\r\nsame\r\n")
		want(t, verb+": code", m.Wait(t), 0)
	}
	want(t, "sessions", len(h.Sessions(t)), 0)
}
