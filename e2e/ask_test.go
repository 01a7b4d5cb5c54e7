// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// approver is a terminal of the host that runs docker hostexec pending --watch, so that a person
// can be asked.
func approver(t *testing.T, h *Host) *Term {
	t.Helper()
	m := h.term(t, "docker", "hostexec", "pending", "--watch")
	m.Expect(t, "q leaves.\r\n")
	m.Resize(t, 24, 400) // no line of a question is broken
	return m
}

// askingContainer is a container whose calls of hsh are asked about, and whose questions can be put.
func askingContainer(t *testing.T, h *Host) *Container {
	t.Helper()
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	approver(t, h)
	waitUntilAsked(t, c, "hsh", "-c", "exit 0")
	return c
}

// waitUntilAsked waits until a call of these arguments is waiting for an answer, and until it no
// longer waits.
func waitUntilAsked(t *testing.T, c *Container, args ...string) {
	t.Helper()
	seconds := 1
	eventually(t, patience, "somebody can be asked", func() bool {
		r := c.Exec(t, append([]string{"timeout", itoa(seconds)}, args...)...)
		seconds = min(2*seconds, 16) // a machine may be too busy to say in so little time that it asks
		return strings.Contains(r.Err, "waiting for approval")
	})
	eventually(t, patience, "it is withdrawn", func() bool {
		return !slices.ContainsFunc(questions(t, c.Host), func(q question) bool { return q.Session == c.Session })
	})
}

// question is what docker hostexec pending tells of a request.
type question struct{ ID, Container, Command, Directory, Rule, Session, Callers string }

// pending returns the requests whose command line has word, when there are n.
func pending(t *testing.T, h *Host, word string, n int) (all []question) {
	t.Helper()
	eventually(t, patience, "requests wait", func() bool {
		all = slices.DeleteFunc(questions(t, h), func(q question) bool { return !strings.Contains(q.Command, word) })
		return len(all) == n
	})
	return all
}

// questions returns all requests of the person's that wait.
func questions(t *testing.T, h *Host) (all []question) {
	t.Helper()
	for line := range strings.Lines(h.Must(t, "hostexec", "pending", "--no-trunc", "--format", "json")) {
		var q question
		check(t, json.Unmarshal([]byte(line), &q))
		all = append(all, q)
	}
	return all
}

// TestIntegrationApprove approves a waiting call, which then runs with its own input.
func TestIntegrationApprove(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := askingContainer(t, h).As("1000")
			call := c.Start(t, "hsh", "-c", "echo $1; cat; exit 3", "hsh", "approved \x1b[31m")
			q := pending(t, h, "approved", 1)[0]
			if q.Directory != h.Work || q.Rule != "--proxy hsh=ask" || q.Session != c.Session || q.Callers != "1" || !strings.HasSuffix(q.Command, ` $'approved \033[31m'`) {
				t.Errorf("shown is %+v", q)
			}
			want(t, "audit before the answer", len(h.Audit(t, q.ID, "HOSTEXEC REQUEST"))+len(h.Audit(t, q.ID, "HOSTEXEC START")), 1)
			want(t, "approve", h.Must(t, "hostexec", "approve", q.ID[:12]), q.ID+"\n")
			_, err := call.In.Write([]byte("its input\n"))
			check(t, err)
			r := call.Wait(t)
			want(t, "stdout", r.Out, "approved \x1b[31m\nits input\n")
			want(t, "code", r.Code, 3)
			want(t, "what the caller was told", r.Err, "hostexec: hsh: waiting for approval (request "+q.ID+"): docker hostexec approve "+q.ID+" on the host\n")
			for _, kind := range []string{"REQUEST", "APPROVE", "START", "COMPLETE"} {
				want(t, kind+" in the audit log", len(h.Audit(t, q.ID, "HOSTEXEC "+kind)), 1)
			}
			if r := h.Docker(t, "hostexec", "approve", q.ID); r.Code != 1 || !strings.Contains(r.Err, "no request "+q.ID+" waits") {
				t.Errorf("approved again: %v", r)
			}
		})
	}
}

// TestIntegrationDeny denies, with a reason, after which the same is not asked again at once.
func TestIntegrationDeny(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := askingContainer(t, h)
			call := c.Start(t, "hsh", "-c", "echo ran denied")
			q := pending(t, h, "denied", 1)[0]
			h.Must(t, "hostexec", "deny", "-m", "not \x1b[31mtoday", q.ID)
			r := call.Ended(t)
			want(t, "code", r.Code, 126)
			if r.Out != "" || !strings.Contains(r.Err, `Command denied: "not \x1b[31mtoday" (request `+q.ID) {
				t.Errorf("the caller is told %v", r)
			}
			want(t, "DENY in the audit log", len(h.Audit(t, q.ID, "HOSTEXEC DENY", "user=", `not \x1b`)), 1)
			if r := c.Exec(t, "hsh", "-c", "echo ran denied"); r.Code != 126 || !strings.Contains(r.Err, "denied a moment ago") {
				t.Errorf("asked again at once: %v", r)
			}
		})
	}
}

// TestIntegrationWithdraw ends the caller while it waits: nobody is asked any more, and
// nothing runs.
//
// Attack 148.
func TestIntegrationWithdraw(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := askingContainer(t, h)
			for _, sig := range []string{"INT", "TERM", "KILL"} {
				call := c.Start(t, "hsh", "-c", "echo ran withdrawn "+sig)
				q := pending(t, h, "withdrawn "+sig, 1)[0]
				call.Signal(t, sig)
				call.Ended(t)
				pending(t, h, "withdrawn "+sig, 0)
				eventually(t, soon, "CANCEL is written", func() bool { return len(h.Audit(t, q.ID, "HOSTEXEC CANCEL")) == 1 })
				want(t, "START in the audit log", len(h.Audit(t, q.ID, "HOSTEXEC START")), 0)
			}
		})
	}
}

// TestIntegrationIdenticalQuestions asks the same twice: it is one question, whose one answer both
// callers get.
func TestIntegrationIdenticalQuestions(t *testing.T) {
	h := dockerUsers(t)[0]
	c := askingContainer(t, h)
	calls := []*Call{c.Start(t, "hsh", "-c", "echo alike"), c.Start(t, "hsh", "-c", "echo alike")}
	eventually(t, patience, "both wait", func() bool { q := pending(t, h, "alike", 1); return q[0].Callers == "2" })
	h.Must(t, "hostexec", "approve", pending(t, h, "alike", 1)[0].ID)
	for _, call := range calls {
		want(t, "stdout", call.Ended(t).Out, "alike\n")
	}
}

// TestIntegrationApproveSuspended answers a request whose watcher is suspended, while another session has a request. No
// one may say that the first request does not wait.
func TestIntegrationApproveSuspended(t *testing.T) {
	h := newHost(t, false)
	c, other := askingContainer(t, h), askingContainer(t, h)
	call, second := c.Start(t, "hsh", "-c", "echo first"), other.Start(t, "hsh", "-c", "echo second")
	id, otherID := pending(t, h, "first", 1)[0].ID, pending(t, h, "second", 1)[0].ID
	w := h.Watcher(t, c.Session)
	w.Signal(t, syscall.SIGSTOP)
	for _, verb := range []string{"approve", "deny"} {
		r := h.Docker(t, "hostexec", verb, id)
		want(t, verb+": code", r.Code, 1)
		want(t, verb, r.Err, fmt.Sprintf("hostexec: session %s: the watcher (process %d) was suspended by a signal\n"+
			"hostexec: no other session has request %s\nhostexec: hint: kill -CONT %d\n", c.Session, w.PID, id, w.PID))
	}
	h.Must(t, "hostexec", "approve", otherID)
	want(t, "the other session's call", second.Ended(t).Out, "second\n")
	w.Signal(t, syscall.SIGCONT)
	h.Must(t, "hostexec", "approve", id)
	want(t, "the call", call.Ended(t).Out, "first\n")
}

// TestIntegrationWatchPending answers by keys: y runs it, n and Enter do not.
func TestIntegrationWatchPending(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
			m := approver(t, h)
			waitUntilAsked(t, c, "hsh", "-c", "exit 0")
			for _, tt := range []struct {
				key  string
				code int
			}{{"y", 5}, {"n", 126}, {"\r", 126}, {"rnot today\r", 126}} {
				call := c.Start(t, "hsh", "-c", "echo 'two words'; exit 5", "key"+tt.key[:1])
				m.Expect(t, "  argv[2]  echo 'two words'; exit 5\r\n")
				m.Expect(t, "y runs it once, a for this session, n or Enter refuses it, r with a reason, N for this session, q leaves: ")
				m.Type(t, tt.key)
				r := call.Ended(t)
				want(t, "code after the key", r.Code, tt.code)
				if reason := strings.Trim(tt.key, "ynr\r"); !strings.Contains(r.Err, reason) {
					t.Errorf("the caller is told %q, want the reason %q in it", r.Err, reason)
				}
			}
			m.Type(t, "q")
			want(t, "code of pending --watch", m.Wait(t), 0)
		})
	}
}

// TestIntegrationNobodyToAsk calls from a session that was started without a terminal: the call is
// refused at once, with the reason.
func TestIntegrationNobodyToAsk(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			cmd := h.Command(ctx, "docker", h.runArgs("--rm", "--proxy", "true=ask", image(t, "busybox"), "/run/hostexec/bin/true")...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: h.cred}
			out, err := cmd.CombinedOutput()
			if exitCode(cmd.ProcessState) != 126 || !strings.HasPrefix(string(out), "hostexec: true: nobody is there to ask: ") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestIntegrationAskedAtOnce checks that docker hostexec pending --watch, which was there before, is asked about the
// first thing that a container does.
func TestIntegrationAskedAtOnce(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			approver(t, h)
			for range 5 {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				cmd := h.Command(ctx, "docker", h.runArgs("--rm", "--proxy", "true=ask", image(t, "busybox"), "/run/hostexec/bin/true")...)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: h.cred}
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				check(t, cmd.Start())
				ended := make(chan error, 1)
				// Ends with the command, which ends with ctx.
				go func() { ended <- cmd.Wait() }()
				asked := func() bool { return len(ended) > 0 || len(questions(t, h)) > 0 }
				eventually(t, patience, "the call asks", asked)
				for _, q := range questions(t, h) {
					h.Must(t, "hostexec", "approve", q.ID)
				}
				if err := <-ended; err != nil {
					t.Errorf("%v: %s", err, out.String())
				}
			}
		})
	}
}

// TestIntegrationNoSelfApproval checks that a container that may call docker on the host cannot
// approve its own request with it.
//
// Attack 124.
func TestIntegrationNoSelfApproval(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--proxy", "hcat=ask,path=/bin/cat", "--proxy", "hsh=/bin/sh")
			approver(t, h)
			waitUntilAsked(t, c, "hcat", "/dev/null")
			call := c.Start(t, "hcat", "/etc/passwd")
			q := pending(t, h, "passwd", 1)[0]
			for _, verb := range []string{"approve", "deny"} {
				for _, how := range []string{"", "setsid ", "env -u HOSTEXEC_REQUEST_ID "} {
					r := c.Exec(t, "hsh", "-c", "export HOSTEXEC_HOME="+h.State+"; "+how+"docker hostexec "+verb+" "+q.ID)
					if r.Code != 1 || !strings.Contains(r.Err, "may not answer for you") {
						t.Errorf("%s%s: %v", how, verb, r)
					}
				}
			}
			h.Must(t, "hostexec", "approve", q.ID)
			want(t, "code once a person said yes", call.Wait(t).Code, 0)
		})
	}
}

// TestIntegrationControlFromContainer mounts the session's directory into a container, which
// hostexec never does. The control socket closes the connection for every user.
//
// Attack 118.
func TestIntegrationControlFromContainer(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--proxy", "hsh=/bin/sh")
			const get = "GET /session HTTP/1.0\r\n\r\n"
			folder := filepath.Join(h.State, "sessions", c.Session)
			uid := os.Getuid()
			if h.cred != nil {
				uid = int(h.cred.Uid)
			}
			if r := h.feed(t, get, probePath(t), "talk", filepath.Join(folder, "control.sock")); !strings.Contains(r.Out, "200 OK") {
				t.Fatalf("a process of the host's: %v", r)
			}
			for _, flags := range [][]string{nil, {"--user", itoa(uid)}, {"--pid", "host"}, {"--pid", "host", "--userns", "host", "--privileged"}} {
				args := append([]string{"run", "--rm", "-i", "--label", runLabel, "-v", folder + ":/s"}, flags...)
				r := h.feed(t, get, "docker", append(args, image(t, "full"), "/probe", "talk", "/s/control.sock")...)
				if strings.Contains(r.Out, "HTTP/") {
					t.Errorf("a container with %q is answered: %v", flags, r)
				}
			}
		})
	}
}
