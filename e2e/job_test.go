// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Job starts a job in the container and returns its id and its process.
func (c *Container) Job(t testing.TB, args ...string) (id string, p *Proc) {
	t.Helper()
	r := c.Exec(t, append([]string{"hostexec", "-d"}, args...)...)
	id, pid, _ := strings.Cut(strings.TrimSuffix(r.Out, "\n"), " ")
	n, err := strconv.Atoi(pid)
	if r.Code != 0 || len(id) != 16 || err != nil {
		t.Fatalf("hostexec -d %q: %v", args, r)
	}
	return id, hold(t, n)
}

// jobDir is where the host keeps what a job wrote.
func (c *Container) jobDir(id string) string {
	return filepath.Join(c.Host.State, "sessions", c.Session, "jobs", id)
}

// TestIntegrationJob starts a job, and looks at it from the container and from the host.
func TestIntegrationJob(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		id, p := c.Job(t, "hsh", "-c", `printf 'a\000\001\002\001\001\001b'; echo err >&2; printf end; read x; exec sleep 1000`)
		dir := c.jobDir(id)
		wantOut := "a\x00\x01\x02\x01\x01\x01bend"
		eventually(t, soon, "all is written", func() bool { // by two who read a pipe each
			both := string(readFile(t, dir+"/combined"))
			return string(readFile(t, dir+"/stdout")) == wantOut && strings.Contains(both, "end") && strings.Contains(both, "err\n")
		})
		want(t, "logs: stdout", c.Exec(t, "hostexec", "logs", id).Out, wantOut)
		want(t, "logs: stderr", c.Exec(t, "hostexec", "logs", id).Err, "err\n")
		want(t, "docker hostexec logs --job", c.Host.Must(t, "hostexec", "logs", "--job", id[:12]), wantOut)
		raw := c.Exec(t, "hostexec", "logs", "--combined", "--raw", id).Out
		want(t, "the combined log", raw, string(readFile(t, dir+"/combined")))
		if !strings.Contains(raw, "\x01\x01\x01a\x00\x01\x00\x02\x00") || !strings.Contains(raw, "\x02\x02\x02err\n") {
			t.Errorf("the combined log is %q", raw)
		}
		check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
			return err
		}))
		if line := lineWith(c.Exec(t, "hostexec", "ps").Out, id); !strings.Contains(line, "job    running") {
			t.Errorf("ps says %q", line)
		}
		want(t, "docker hostexec ps", lineWith(c.Host.Must(t, "hostexec", "ps", "--format", "{{.ID}} {{.Kind}} {{.Status}} {{.PID}}", c.ID), id), fmt.Sprintf("%s job running %d", id, p.PID))
		want(t, "docker hostexec kill", c.Host.Must(t, "hostexec", "kill", id), id+"\n")
		want(t, "it is gone when kill returns", p.Gone(0), true)
		want(t, "wait", c.Exec(t, "hostexec", "wait", id).Code, 143)
		want(t, "its end", lineWith(c.Host.Must(t, "hostexec", "ps", "-a", "--format", "{{.ID}} {{.Status}} {{.Exit}}"), id), id+" killed 143")
		want(t, "kill again", c.Exec(t, "hostexec", "kill", id).Code, 1)
		want(t, "docker hostexec kill again", c.Host.Docker(t, "hostexec", "kill", id).Code, 1)
		want(t, "COMPLETE lines", len(c.Host.Audit(t, id, "HOSTEXEC COMPLETE")), 1)
	})
}

// TestIntegrationJobFollowed follows a job's log, in the container and on the host, until the
// job ends.
func TestIntegrationJobFollowed(t *testing.T) {
	forEachUser(t, func(t *testing.T, c *Container) {
		fifo := func(name string) string {
			path := filepath.Join(c.Host.Work, name+c.User)
			check(t, syscall.Mkfifo(path, 0o666))
			t.Cleanup(func() { os.Remove(path) })
			check(t, os.Chmod(path, 0o666))
			return path
		}
		first, second := fifo("go"), fifo("on")
		id, _ := c.Job(t, "hsh", "-c", "echo one; cat "+first+"; cat "+second+" >&2; exit 3")
		call := c.Start(t, "hostexec", "logs", "-f", "--combined", id)
		want(t, "the first line", call.Line(t), "one")
		check(t, os.WriteFile(first, []byte("two\n"), 0))
		// Only when it was read does the other stream go on: two pipes have no order.
		want(t, "the second line", call.Line(t), "two")
		check(t, os.WriteFile(second, []byte("three\n"), 0))
		r := call.Wait(t)
		want(t, "the rest", r.Out, "three\n")
		want(t, "code", r.Code, 0)
		want(t, "wait", c.Exec(t, "hostexec", "wait", id).Code, 3)
		want(t, "docker hostexec logs -f", c.Host.Must(t, "hostexec", "logs", "--job", id, "-f", "--combined"), "one\ntwo\nthree\n")
	})
}

// TestIntegrationJobTree ends whole trees, setsid, double forks and all: by kill, and with
// the session, however that ends.
//
// Attack 152.
func TestIntegrationJobTree(t *testing.T) {
	const script = `(setsid sleep 1000 & echo $!); ( (sleep 1000 & echo $!) ); trap '' HUP; sleep 1000 & echo $!; echo up; wait`
	for _, h := range anyUser(t) {
		for name, end := range map[string]func(c *Container, id string){
			"kill":              func(c *Container, id string) { want(t, "kill", c.Exec(t, "hostexec", "kill", id).Code, 0) },
			"kill --all":        func(c *Container, id string) { want(t, "kill", c.Exec(t, "hostexec", "kill", "--all").Code, 0) },
			"the container":     func(c *Container, _ string) { c.Host.Must(t, "kill", c.ID) },
			"stop":              func(c *Container, _ string) { c.Host.Must(t, "hostexec", "stop", c.ID) },
			"the watcher dies":  func(c *Container, _ string) { c.Host.Watcher(t, c.Session).Signal(t, syscall.SIGKILL) },
			"time":              func(*Container, string) {},
			"its caller leaves": nil,
		} {
			t.Run(h.Name+"/"+name, func(t *testing.T) {
				c := h.Holding(t, "--proxy", "hsh=/bin/sh").As("1000")
				words := []string{"--wait-for-log", "up", "hsh", "-c", script}
				if name == "time" {
					words = append([]string{"--timeout", "8s"}, words...) // by then it is looked at
				}
				if end == nil {
					callerLeaves(t, c, script)
					return
				}
				id, p := c.Job(t, words...)
				procs := []*Proc{p}
				for _, pid := range strings.Fields(strings.TrimSuffix(c.Exec(t, "hostexec", "logs", id).Out, "up\n")) {
					n, err := strconv.Atoi(pid)
					check(t, err)
					procs = append(procs, hold(t, n))
				}
				want(t, "processes", len(procs), 4)
				end(c, id)
				allEnd(t, procs, leaves+grace)
				logged := c.Host.Must(t, "hostexec", "logs", "--job", id)
				want(t, "the log stays as long as the container", strings.HasSuffix(logged, "up\n"), true)
			})
		}
	}
}

// TestIntegrationJobOfKilledWatcher kills the watcher during a job that writes to both streams. No
// process of it stays, its output is kept up to some point, and the end of the output gives the
// reason.
func TestIntegrationJobOfKilledWatcher(t *testing.T) {
	for _, h := range dockerUsers(t) {
		c := h.Holding(t, "--proxy", "hsh=/bin/sh").As("1000")
		id, p := c.Job(t, "--wait-for-log", "^1000$", "hsh", "-c", "i=0; while :; do i=$((i+1)); echo $i; echo e$i >&2; done")
		h.Watcher(t, c.Session).Signal(t, syscall.SIGKILL)
		p.Ends(t, grace)
		r := h.Docker(t, "hostexec", "logs", "--job", id)
		if r.Code != 0 || !strings.HasPrefix(r.Out, "1\n2\n3\n") || !strings.HasPrefix(r.Err, "e1\ne2\n") || !strings.HasSuffix(r.Err, "its watcher was killed: what it wrote last may be missing\n") {
			t.Errorf("docker hostexec logs --job: code %d, stdout %q ..., stderr ... %q", r.Code, clip(r.Out), r.Err[max(0, len(r.Err)-200):])
		}
		if out := string(readFile(t, c.jobDir(id)+"/stdout")); !strings.HasPrefix(out, r.Out) {
			t.Error("stdout is not what the combined log has, and perhaps a little more")
		}
		want(t, "its end", lineWith(h.Must(t, "hostexec", "ps", "-a", "--format", "{{.ID}} {{.Status}} {{.Exit}}"), id), id+" killed 137")
		h.Must(t, "hostexec", "resume", c.ID)
		want(t, "wait, in the container", c.Exec(t, "hostexec", "wait", id).Code, 137)
	}
}

// TestIntegrationJobResumed resumes a session that stores more output than the default limit permits, with a broken
// configuration first: no output is removed.
func TestIntegrationJobResumed(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "hsh=/bin/sh")
	id, _ := c.Job(t, "hsh", "-c", "echo out; exec sleep 1000")
	h.Must(t, "hostexec", "kill", id)
	for _, config := range []string{"jobs: [", "jobs: {disk: 2GiB}\n"} {
		h.Must(t, "hostexec", "stop", c.Session)
		check(t, os.Truncate(c.jobDir(id)+"/stdout", 600<<20)) // a sparse file
		h.Write(t, h.State, "config.yaml", config, 0o600)
		h.Must(t, "hostexec", "resume", c.Session)
		want(t, "the job with "+config, lineWith(h.Must(t, "hostexec", "ps", "-a", "--format", "{{.ID}} {{.Status}}"), id), id+" killed")
	}
}

// callerLeaves has the caller of a job leave before it is ready.
func callerLeaves(t *testing.T, c *Container, script string) {
	t.Helper()
	mark := "mark-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	call := c.Start(t, "hostexec", "-d", "--wait-for-log", "never", "hsh", "-c", script, mark)
	pid := 0
	eventually(t, patience, "the job runs", func() bool {
		line := lineWith(c.Host.Must(t, "hostexec", "ps", "--no-trunc", "--format", "{{.PID}} {{.Status}} {{.Command}}", c.ID), mark)
		fmt.Sscan(line, &pid)
		return pid > 0
	})
	p := hold(t, pid)
	call.Signal(t, "KILL")
	p.Ends(t, grace)
}

// TestIntegrationJobPort waits until a job listens.
func TestIntegrationJobPort(t *testing.T) {
	find(t, "busybox")
	for _, h := range dockerUsers(t) {
		c := h.Holding(t, "--proxy", "hsh=/bin/sh")
		port := unusedPort(t)
		id, p := c.Job(t, "--wait-for-port", port, "hsh", "-c", "busybox nc -l -p "+port)
		r := c.Exec(t, "hostexec", "-d", "--wait-for-port", port, "--wait-timeout", "0.3", "hsh", "-c", "exec sleep 1000")
		want(t, "another's port", r.Code, 124)
		want(t, "kill", c.Exec(t, "hostexec", "kill", id).Code, 0)
		want(t, "it is gone", p.Gone(0), true)
	}
}

// unusedPort is one on which nobody listens, of those that the kernel gives to nobody.
func unusedPort(t *testing.T) string {
	t.Helper()
	for i := range 10000 {
		port := strconv.Itoa(20000 + (os.Getpid()+i)%10000)
		if ln, err := net.Listen("tcp", ":"+port); err == nil {
			check(t, ln.Close())
			return port
		}
	}
	t.Fatal("every port is in use")
	return ""
}

// TestIntegrationJobsOfOtherSessions checks that a session sees only its own jobs.
//
// Attack 44.
func TestIntegrationJobsOfOtherSessions(t *testing.T) {
	for _, h := range dockerUsers(t) {
		c, other := h.Holding(t, "--proxy", "hsh=/bin/sh"), h.Holding(t, "--proxy", "hsh=/bin/sh")
		id, p := c.Job(t, "hsh", "-c", "exec sleep 1000")
		for _, verb := range []string{"logs", "wait", "kill"} {
			r := other.Exec(t, "hostexec", verb, id)
			if r.Code == 0 || !strings.Contains(r.Err, "no such job") || strings.Count(r.Err, "\n") != 1 {
				t.Errorf("%s: %v", verb, r)
			}
		}
		want(t, "kill --all", other.Exec(t, "hostexec", "kill", "--all").Out, "")
		want(t, "ps", lineWith(other.Exec(t, "hostexec", "ps").Out, id), "")
		want(t, "it goes on", p.Gone(0), false)
		c.Exec(t, "hostexec", "kill", id)
	}
}

// TestIntegrationJobsAtOnce runs 200 jobs at once, within limits of memory and threads. Afterwards all
// descriptors are closed.
func TestIntegrationJobsAtOnce(t *testing.T) {
	const n = 200
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, "--proxy", "hsh=/bin/sh")
			w := h.Watcher(t, c.Session)
			fds := countFDs(t, w.PID)
			want(t, "failures", startJobs(t, c), 0)
			want(t, "running", strings.Count(c.Exec(t, "hostexec", "ps").Out, " running "), n)
			t.Logf("%d threads, %d KiB RssAnon, %d descriptors", statusNum(t, w.PID, "Threads"), statusNum(t, w.PID, "RssAnon"), countFDs(t, w.PID))
			within(t, "RssAnon of the watcher in bytes", statusNum(t, w.PID, "RssAnon")*1024, 48e6)
			within(t, "threads of the watcher", statusNum(t, w.PID, "Threads"), 48)
			want(t, "killed", strings.Count(c.Exec(t, "hostexec", "kill", "--all").Out, "\n"), n)
			eventually(t, soon, "all descriptors are returned", func() bool { return countFDs(t, w.PID) <= fds+2 })
			eventually(t, soon, "no child of the watcher is left", func() bool { return len(children(t, w.PID)) == 0 })
		})
	}
}

// TestIntegrationTimeout checks that a call with a time limit is answered in time with the output
// so far, even if another process holds the caller's pipe.
//
// Attack 142.
func TestIntegrationTimeout(t *testing.T) {
	const script = `echo partial; setsid sleep 1000 & (trap '' HUP; sleep 1000) & sleep 1000`
	forEachUser(t, func(t *testing.T, c *Container) {
		t.Parallel() // most of it is waiting
		for _, call := range []string{`hostexec --timeout 2s hsh -c "$1"`, `HOSTEXEC_TIMEOUT=2.0 hsh -c "$1"`, `HOSTEXEC_TIMEOUT=5m hostexec --timeout=2000ms hsh -c "$1"`} {
			begin := time.Now()
			r := c.Sh(t, `x=$(`+call+`); code=$?; echo "$x $code"`, script)
			// A shell may say that its child was terminated before it is told itself.
			if r.Out != "partial 124\n" || !strings.HasSuffix(r.Err, "\n") || strings.Count(r.Err, "hostexec: hsh: timeout: ended after 2s") != 1 {
				t.Errorf("%s: %v", call, r)
			}
			if took := time.Since(begin); took > grace {
				t.Errorf("%s took %s", call, took)
			}
		}
		want(t, "a fast command", c.Sh(t, `HOSTEXEC_TIMEOUT=60 hsh -c 'exit 7'`).Code, 7)
	})
}
