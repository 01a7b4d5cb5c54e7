// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// fault is something that goes wrong in a session, or on its host. inject makes it happen, and returns the function
// that heals it, or nil if it does not apply at the moment.
type fault struct {
	name   string
	stops  bool // it stops callers, which are late then
	second bool // it needs the second engine
	inject func(x *chaos, l *loaded) (heal func())
}

var faults = []fault{
	{name: "watcher: SIGKILL", inject: func(x *chaos, l *loaded) func() { return x.kill(l, x.watcher(l)) }},
	{name: "keeper: SIGKILL", inject: func(x *chaos, l *loaded) func() { return x.kill(l, x.keeper(l)) }},
	{name: "watcher and keeper: SIGKILL", inject: func(x *chaos, l *loaded) func() { return x.kill(l, x.watcher(l), x.keeper(l)) }},
	{name: "watcher: SIGSTOP", inject: func(x *chaos, l *loaded) func() { return suspend(x.watcher(l)) }},
	{name: "keeper: SIGSTOP", inject: func(x *chaos, l *loaded) func() { return suspend(x.keeper(l)) }},
	{name: "shim: SIGKILL", inject: func(x *chaos, l *loaded) func() { return end(x.choose(x.inside(l, "hload", "work"))) }},
	{name: "shim: SIGSTOP", stops: true, inject: func(x *chaos, l *loaded) func() { return suspend(x.choose(x.inside(l, "hload", "work"))) }},
	{name: "relay: SIGKILL", inject: func(x *chaos, l *loaded) func() { return end(x.choose(x.inside(l, "hostexec", "relay"))) }},
	{name: "relay: SIGSTOP", inject: func(x *chaos, l *loaded) func() { return suspend(x.choose(x.inside(l, "hostexec", "relay"))) }},
	{name: "command: SIGKILL", inject: func(x *chaos, l *loaded) func() { return end(x.choose(children(x.t, x.watcher(l)))) }},
	{name: "container: paused", stops: true, inject: func(x *chaos, l *loaded) func() { return x.pause(l) }},
	{name: "page: SIGKILL", inject: func(x *chaos, _ *loaded) func() { return x.replacePage() }},
	{name: "API proxy: SIGKILL", inject: func(x *chaos, _ *loaded) func() { return end(x.choose(x.proxies())) }},
	{name: "API proxy: SIGSTOP", inject: func(x *chaos, _ *loaded) func() { return suspend(x.choose(x.proxies())) }},
	{name: "disk: full", inject: func(x *chaos, _ *loaded) func() { return x.fillDisk() }},
	{name: "disk: no inodes", inject: func(x *chaos, _ *loaded) func() { return x.fillInodes() }},
	{name: "audit log: unwritable", inject: func(x *chaos, l *loaded) func() { return x.limit(x.watcher(l), "fsize", "1") }},
	{name: "watcher: no descriptors", inject: func(x *chaos, l *loaded) func() { return x.limit(x.watcher(l), "nofile", "8") }},
	{name: "watcher: no processes", inject: func(x *chaos, l *loaded) func() { return x.limit(x.watcher(l), "nproc", "1") }},
	{name: "engine: SIGKILL", second: true, inject: func(x *chaos, _ *loaded) func() { return x.restartEngine() }},
	{name: "engine: SIGSTOP", second: true, inject: func(x *chaos, _ *loaded) func() { return suspend(x.second.cmd.Process.Pid) }},
}

// pick chooses a fault that this run can inject.
func (x *chaos) pick() fault {
	for {
		f := faults[x.random.IntN(len(faults))]
		if !f.second || x.second != nil {
			return f
		}
	}
}

// inject injects a fault, and heals it a little later.
func (x *chaos) inject(f fault) {
	l := x.sessions[x.random.IntN(len(x.sessions))]
	e := event{fault: f.name, session: l, stops: f.stops, begin: time.Now()}
	heal := f.inject(x, l)
	if heal == nil {
		return // there is no such process at the moment
	}
	x.events = append(x.events, e)
	<-time.After(time.Duration(100+x.random.IntN(2000)) * time.Millisecond)
	heal()
	x.events[len(x.events)-1].end = time.Now()
}

// healed is for faults that heal by themselves.
func healed() {}

// watcher returns the pid of a session's watcher, or 0.
func (x *chaos) watcher(l *loaded) int {
	return x.choose(processes(" watcher ", l.Host.State, l.Session))
}

func (x *chaos) keeper(l *loaded) int {
	return x.choose(processes("hostexec-keeper ", l.Host.State, l.Session))
}

// proxies lists the processes that serve the API proxy.
func (x *chaos) proxies() []int {
	return processes("hostexec with ", "--all", x.evidenceFile(), "hload="+probePath(x.t))
}

// choose returns one of pids, or 0.
func (x *chaos) choose(pids []int) int {
	if len(pids) == 0 {
		return 0
	}
	return pids[x.random.IntN(len(pids))]
}

// inside lists the processes of a container by their first two arguments. The first may be a path.
func (x *chaos) inside(l *loaded, name, arg string) (pids []int) {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", l.PID(x.t)))
	if err != nil {
		return nil
	}
	for _, pid := range processes(name, arg) {
		words := strings.Fields(cmdline(pid))
		ns, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)) // none: it has ended
		if ns == own && len(words) > 1 && filepath.Base(words[0]) == name && words[1] == arg {
			pids = append(pids, pid)
		}
	}
	return pids
}

// end kills a process.
func end(pid int) (heal func()) {
	if pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return nil
	}
	return healed
}

// suspend stops a process, and continues it.
func suspend(pid int) (heal func()) {
	if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return nil
	}
	return func() { syscall.Kill(pid, syscall.SIGCONT) } // it may have been killed
}

// kill kills processes of a session, and resumes the session when it has ended.
func (x *chaos) kill(l *loaded, pids ...int) (heal func()) {
	for _, pid := range pids {
		if pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
			return nil
		}
	}
	return func() { x.resume(l) }
}

// resume resumes a session, whose keeper may still end what the watcher has left.
func (x *chaos) resume(l *loaded) {
	eventually(x.t, patience, "the session of "+l.name+" is served again", func() bool {
		if x.watcher(l) != 0 && x.keeper(l) != 0 {
			cmd := l.Host.Command(x.t.Context(), "docker", "hostexec", "status", "-q", "--filter", "state=running")
			if out, err := cmd.Output(); err == nil && bytes.Contains(out, []byte(l.Session)) {
				return true
			}
		}
		_ = l.Host.Command(x.t.Context(), "docker", "hostexec", "resume", l.Session).Run() // not yet, or served already
		return false
	})
}

func (x *chaos) pause(l *loaded) (heal func()) {
	if l.Host.Command(x.t.Context(), "docker", "pause", l.ID).Run() != nil {
		return nil
	}
	return func() { l.Host.Must(x.t, "unpause", l.ID) }
}

// replacePage kills the page, if there is one, and starts another.
func (x *chaos) replacePage() (heal func()) {
	for _, pid := range x.pages() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return func() {
		cmd := x.Command(x.t.Context(), "docker-hostexec")
		cmd.Path, cmd.Args = pluginPath(x.t), []string{"docker-hostexec", "hostexec", "ui", "--background"}
		if cmd.Start() == nil {
			x.background.Go(func() { _ = cmd.Wait() }) // ends with the page, at the end of the test
		}
	}
}

// fillDisk uses up all space of the state's file system, and gives it back.
func (x *chaos) fillDisk() (heal func()) {
	file := filepath.Join(x.State, "filler")
	f, err := os.Create(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	return func() { os.Remove(file) }
}

// fillInodes uses up all inodes of the state's file system, and gives them back.
func (x *chaos) fillInodes() (heal func()) {
	dir := filepath.Join(x.State, "fillers")
	if os.Mkdir(dir, 0o700) != nil {
		return nil
	}
	for n := 0; ; n++ {
		f, err := os.Create(filepath.Join(dir, itoa(n)))
		if err != nil {
			break
		}
		f.Close()
	}
	return func() { os.RemoveAll(dir) }
}

// limit sets the soft limit of a resource of one of the user's processes, and restores it. The user does so, because
// root may lack CAP_SYS_RESOURCE.
func (x *chaos) limit(pid int, resource, value string) (heal func()) {
	if pid == 0 {
		return nil
	}
	prlimit := func(args ...string) Result {
		r := x.feed(x.t, "", "prlimit", append([]string{"--pid", itoa(pid)}, args...)...)
		if r.Code != 0 && syscall.Kill(pid, 0) == nil {
			x.t.Errorf("limit %s of process %d: %v", resource, pid, r)
		}
		return r
	}
	old := prlimit("--"+resource, "--raw", "--noheadings", "--output", "SOFT")
	if old.Code != 0 || prlimit("--"+resource+"="+value+":").Code != 0 {
		return nil
	}
	return func() { prlimit("--" + resource + "=" + strings.TrimSpace(old.Out) + ":") } // it may have been killed
}

// restartEngine kills the second engine, and starts it again.
func (x *chaos) restartEngine() (heal func()) {
	x.second.stop(x.t, syscall.SIGKILL)
	return func() { x.second.start(x.t) }
}
