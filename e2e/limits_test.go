// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// flood makes n calls of frame from one process of the container, m at a time, and returns
// how many were started and how many were answered otherwise.
func (c *Container) flood(t testing.TB, frame []byte, n, m int) (started, ended int) {
	t.Helper()
	args := c.execArgs([]string{"-i"}, "/probe", "flood", itoa(n), itoa(m), "drop")
	r := c.Host.feedFor(t, 5*patience, hex.EncodeToString(frame)+"\n", "docker", args...)
	if r.Code != 0 {
		t.Fatalf("flood: %v", r)
	}
	return answers(t, r.Out)
}

// answers parses the output of flood.
func answers(t testing.TB, line string) (started, ended int) {
	t.Helper()
	kinds := map[string]int{}
	check(t, json.Unmarshal([]byte(line), &kinds))
	return kinds[strconv.Itoa(int(wire.KindStarted))], kinds[strconv.Itoa(int(wire.KindExit))]
}

// calling is the frame of a call.
func calling(args ...string) []byte {
	return request(func(m *wire.Exec) { m.Args = args })
}

// logged is how many bytes the audit log has, with the files that were put aside.
func logged(t testing.TB, h *Host) (n int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(h.State, "audit.log*"))
	check(t, err)
	for _, name := range names {
		fi, err := os.Stat(name)
		check(t, err)
		n += fi.Size()
	}
	return n
}

// TestIntegrationLimitAudit makes two thousand refused calls with 100 kB of arguments each. The log
// hardly grows, counts them, and stays intact. Commands that run meanwhile have all their records.
//
// Attack 132.
func TestIntegrationLimitAudit(t *testing.T) {
	for _, person := range dockerUsers(t) {
		h := newHost(t, person.Name == "user") // whose log has no other records
		t.Run(h.Name, func(t *testing.T) {
			c := h.Holding(t, append(proxies(t), "--proxy", "banned=deny")...)
			const calls = 2000
			before := logged(t, h)
			begin := time.Now()
			_, ended := c.flood(t, calling("banned", strings.Repeat("x", 100_000), "end"), calls, 64)
			want(t, "calls that were answered", ended, calls)
			want(t, "a call that runs", c.Exec(t, "hsh", "-c", "echo "+strings.Repeat("y", 2000)).Code, 0)
			h.Must(t, "rm", "-f", c.ID)
			h.quiet(t, 5*patience) // as long as the flood may take: the end of a session waits for all that it began
			grown := logged(t, h) - before
			t.Logf("the log grew by %d bytes", grown)
			within(t, "growth of the log in bytes", int(grown), 4<<20)
			want(t, "verify", strings.HasPrefix(h.Must(t, "hostexec", "audit", "verify"), "ok: "), true)
			counted := 0
			for _, line := range strings.Fields(h.Must(t, "hostexec", "audit", "--filter", "event=REFUSALS", "--format", "{{.Count}}")) {
				n, err := strconv.Atoi(line)
				check(t, err)
				counted += n
			}
			denied := strings.Count(h.Must(t, "hostexec", "audit", "--filter", "event=DENY", "--format", "x"), "x")
			want(t, "refusals in the log", counted+denied, calls)
			within(t, "refusals with a record of their own", denied, 200+20*int(time.Since(begin).Seconds()+1))
			ran := h.Must(t, "hostexec", "audit", "--filter", "command=hsh", "--format", "{{.Event}}")
			want(t, "records of the call that ran", ran, "AUTO_APPROVE\nSTART\nCOMPLETE\n")
			start := h.Must(t, "hostexec", "audit", "--filter", "event=START", "--raw")
			want(t, "START has the length and the digest", strings.Contains(start, "[2005:") && strings.Contains(start, " cmd_bytes=") && strings.Contains(start, " cmd_sha256="), true)
		})
	}
}

// TestIntegrationLimitCalls makes 1500 calls at once from a container that may have twenty
// processes. No more calls run than that, and those of other sessions are not delayed.
//
// Attack 212.
func TestIntegrationLimitCalls(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			sleep := []string{"--proxy", "hsleep=" + find(t, "sleep"), "--proxy", "htrue=" + find(t, "true")}
			c, other := h.Holding(t, append(sleep, "--pids-limit", "20")...), h.Holding(t, sleep...)
			w := h.Watcher(t, c.Session)
			call := c.Start(t, "/probe", "flood", "1500", "1500", "hold")
			_, err := fmt.Fprintln(call.In, hex.EncodeToString(calling("hsleep", "1000")))
			check(t, err)
			started, ended := answers(t, call.Line(t))
			want(t, "calls that run and calls that were refused", fmt.Sprint(started, ended), "20 1480")
			within(t, "children of the watcher", len(children(t, w.PID)), 20+2)
			want(t, "another session's call", other.Exec(t, "htrue").Code, 0)
			r := c.Host.feed(t, "", "docker", c.execArgs(nil, "htrue")...)
			if r.Code != 126 || !strings.Contains(r.Err, "htrue: refused: limit of 20 for calls in flight (the container has --pids-limit 20)") {
				t.Errorf("one call more: %v", r)
			}
			if r := c.Exec(t, "hostexec", "ps"); r.Code != 0 {
				t.Errorf("ps: %v", r)
			}
			_, err = fmt.Fprintln(call.In, "end")
			check(t, err)
			want(t, "flood", call.Wait(t).Code, 0)
			eventually(t, patience, "calls are let in again", func() bool { return c.Exec(t, "htrue").Code == 0 })
		})
	}
}

// TestIntegrationLimitCallsDefault makes more calls than the default from a container that may
// have any number of processes, and TestIntegrationLimitSettings changes the limits.
//
// Attack 212.
func TestIntegrationLimitCallsDefault(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "hsleep="+find(t, "sleep"))
	call := c.Start(t, "/probe", "flood", "1500", "1500", "hold")
	_, err := fmt.Fprintln(call.In, hex.EncodeToString(calling("hsleep", "1000")))
	check(t, err)
	started, ended := answers(t, call.Line(t))
	want(t, "calls that run and calls that were refused", fmt.Sprint(started, ended), "1024 476")
	_, err = fmt.Fprintln(call.In, "end")
	check(t, err)
	want(t, "flood", call.Wait(t).Code, 0)
}

// TestIntegrationLimitSettings sets each limit low in config.yaml: the refusal names it.
func TestIntegrationLimitSettings(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.State, "config.yaml", "limits: {calls: 2, processes: 30, argv: 64KiB, spool: 1MiB, requests: 20}\n", 0o600)
	c := h.Holding(t, append(proxies(t), "--proxy-shell")...)
	t.Run("calls", func(t *testing.T) {
		one, two := c.Start(t, "hcat"), c.Start(t, "hcat")
		for _, call := range []*Call{one, two} {
			_, err := fmt.Fprintln(call.In, "here")
			check(t, err)
			want(t, "line", call.Line(t), "here")
		}
		if r := c.Exec(t, "htrue"); r.Code != 126 || !strings.Contains(r.Err, "refused: limit of 2 for calls in flight (limits.calls)") || !strings.Contains(r.Err, "config.yaml") {
			t.Errorf("a third call: %v", r)
		}
		// A full session reads the configuration again.
		h.Write(t, h.State, "config.yaml", "limits: {calls: 3, processes: 30, argv: 64KiB, spool: 1MiB, requests: 20}\n", 0o600)
		want(t, "a third call with a higher limit", c.Exec(t, "htrue").Code, 0)
		for _, call := range []*Call{one, two} {
			check(t, call.In.Close())
			want(t, "code", call.Wait(t).Code, 0)
		}
		want(t, "a call after these", c.Exec(t, "htrue").Code, 0)
	})
	t.Run("argv", func(t *testing.T) {
		r := c.Sh(t, `htrue "$(head -c 100000 /dev/zero | tr '\0' x)"`)
		if r.Code != 126 || !strings.Contains(r.Err, "htrue: refused: limit of 64 KiB for arguments of calls in flight (limits.argv)") {
			t.Errorf("100 kB of arguments: %v", r)
		}
		want(t, "a shorter one", c.Exec(t, "htrue", "x").Code, 0)
	})
	t.Run("processes", func(t *testing.T) {
		r := c.Exec(t, "hsh", "-c", "for i in $(seq 100); do sleep 1000 & done; wait")
		if r.Code != 125 || !strings.Contains(r.Err, "hsh: ended: limit of 30 for processes of a session (limits.processes)") {
			t.Errorf("100 processes: %v", r)
		}
		eventually(t, patience, "calls are let in again", func() bool { return c.Exec(t, "htrue").Code == 0 })
	})
	t.Run("spool", func(t *testing.T) {
		want(t, "create", c.Exec(t, "hostexec", "session", "create", "s").Code, 0)
		r := c.Exec(t, "hostexec", "session", "exec", "--json", "s", "--", "yes")
		if r.Code != 125 || !strings.Contains(r.Err, "ended: limit of 1 MiB for data that waits on the host's disk (limits.spool)") {
			t.Errorf("endless output: %v", r)
		}
		want(t, "the shell goes on", c.Exec(t, "hostexec", "session", "exec", "s", "--", "echo goes on").Out, "goes on\n")
	})
}

// TestIntegrationLimitShell checks that output without end, of a shell and of a process that it
// left, does not fill the disk.
//
// Attack 139.
func TestIntegrationLimitShell(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.State, "config.yaml", "limits: {spool: 64MiB}\n", 0o600)
	c := h.Holding(t, "--proxy-shell")
	folder := filepath.Join(h.State, "sessions", c.Session)
	want(t, "create", c.Exec(t, "hostexec", "session", "create", "s").Code, 0)
	var wg sync.WaitGroup
	defer wg.Wait()
	// ends when the limit has ended the text, and the reader reads.
	wg.Go(func() {
		r := c.Host.feedFor(t, 2*patience, "", "docker", c.execArgs(nil, "bash", "-c", "hostexec session exec s -- yes | { sleep 8; tail -c 1 >/dev/null; }; exit ${PIPESTATUS[0]}")...)
		if r.Code != 125 || !strings.Contains(r.Err, "limits.spool") {
			t.Errorf("endless output: %v", r)
		}
	})
	most, end := int64(0), time.Now().Add(12*time.Second) // as long as a minute's worth of output took
	w := h.Watcher(t, c.Session)
	for time.Now().Before(end) {
		most = max(most, held(t, folder)+removed(w.PID, folder))
	}
	t.Logf("at most %d bytes", most)
	within(t, "bytes on the disk", int(most), 1<<30)
}

// held is how many bytes the files below a directory have on the disk.
func held(t testing.TB, dir string) (n int64) {
	t.Helper()
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil {
			if fi, err := e.Info(); err == nil {
				n += blocks(fi)
			}
		}
		return nil
	})
	return n
}

// removed is how many bytes the files below dir have that process pid has open, and that have
// no name any more.
func removed(pid int, dir string) (n int64) {
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	for _, fd := range fds {
		at := fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())
		name, err := os.Readlink(at)
		if err == nil && strings.HasPrefix(name, dir) && strings.HasSuffix(name, " (deleted)") {
			if fi, err := os.Stat(at); err == nil {
				n += blocks(fi)
			}
		}
	}
	return n
}

// TestIntegrationLimitFiles has a read-only container fill its request directories, by bytes and by
// number of files. The session ends, its files are removed, and the log gives the reason.
//
// Attack 139.
func TestIntegrationLimitFiles(t *testing.T) {
	for _, person := range dockerUsers(t) {
		h := newHost(t, person.Name == "user") // with a configuration and leftovers of its own
		for _, tt := range []struct{ name, script string }{
			{"bytes", "cat /dev/zero >/run/hostexec/proxy/htrue/fill"},
			{"requests", `i=0; while :; do : >/run/hostexec/proxy/htrue/$i.req.tmp; i=$((i+1)); done`},
			{"removed", "exec 3>/run/hostexec/proxy/htrue/fill; rm /run/hostexec/proxy/htrue/fill; cat /dev/zero >&3"},
			{"elsewhere", "mkdir -p /run/hostexec/proxy/a/b/c && cat /dev/zero >/run/hostexec/proxy/a/b/c/fill"},
		} {
			if tt.name == "removed" && h.Name == "user" {
				continue // only root sees what a container's root has open
			}
			t.Run(h.Name+"/"+tt.name, func(t *testing.T) {
				h.Write(t, h.State, "config.yaml", "limits: {spool: 32MiB, requests: 1000}\n", 0o600)
				c := filesContainer(t, h, "--read-only")
				folder := filepath.Join(h.State, "sessions", c.Session)
				want(t, "a call", c.Exec(t, "htrue").Code, 0)
				ended := make(chan struct{})
				// ends with the container.
				go func() {
					defer close(ended)
					c.Host.feedFor(t, 2*patience, "", "docker", c.execArgs(nil, "bash", "-c", tt.script)...)
				}()
				most := int64(0)
				for over := false; !over; {
					select {
					case <-ended:
						over = true
					default:
						most = max(most, held(t, folder))
					}
				}
				t.Logf("at most %d bytes", most)
				within(t, "bytes on the disk", int(most), 2<<30)
				eventually(t, patience, "the container is ended", func() bool { return c.Inspect(t, "{{.State.Running}}") == "false" })
				log := h.Must(t, "hostexec", "audit", "--filter", "session="+c.Session, "--filter", "event=DENY", "--format", "{{.Reason}}")
				want(t, "the log says why", strings.Contains(log, "the container was ended: limit of "), true)
				if h.Name != "user" { // else what the container's root has made is for root to remove
					eventually(t, patience, "what it wrote is removed", func() bool { return held(t, folder) < 8<<20 })
				}
			})
		}
	}
}

// TestIntegrationLimitArgv makes fifty concurrent calls with 1.8 MB of arguments each. The watcher
// holds arguments up to the limit, refuses the other calls, and releases the memory afterwards.
//
// Attack 132.
func TestIntegrationLimitArgv(t *testing.T) {
	h := newHost(t, false)
	c := h.Holding(t, "--proxy", "hsh="+find(t, "sh"), "--proxy", "htrue="+find(t, "true"))
	w := h.Watcher(t, c.Session)
	args := []string{"hsh", "-c", "sleep 1000", "sh"}
	for range 15 {
		args = append(args, strings.Repeat("x", 120_000))
	}
	call := c.Start(t, "/probe", "flood", "50", "8", "hold")
	_, err := fmt.Fprintln(call.In, hex.EncodeToString(calling(args...)))
	check(t, err)
	started, ended := answers(t, call.Line(t))
	anon := statusNum(t, w.PID, "RssAnon")
	t.Logf("%d run, %d were refused, %d KiB RssAnon", started, ended, anon)
	want(t, "all are answered", started+ended, 50)
	within(t, "bytes of arguments in flight", started*15*120_000, 64<<20)
	within(t, "calls that are refused", ended, 15) // there is room for 37
	within(t, "RssAnon of the watcher in KiB", anon, 256<<10)
	want(t, "a short call", c.Exec(t, "htrue").Code, 0)
	_, err = fmt.Fprintln(call.In, "end")
	check(t, err)
	want(t, "flood", call.Wait(t).Code, 0)
	eventually(t, patience, "long calls are let in again", func() bool { return c.Sh(t, `htrue "$(head -c 100000 /dev/zero | tr '\0' x)"`).Code == 0 })
}

// blocks is how many bytes a file has on the disk.
func blocks(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return 0
}
