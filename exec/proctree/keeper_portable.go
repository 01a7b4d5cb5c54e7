// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package proctree

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keptMarker names the variable by which a keeper knows what its watcher has started.
const keptMarker = "HOSTEXEC_KEPT"

// looking is how often a keeper looks who descends from its watcher, of whom some will have
// lost their parents by the time that it ends them.
const looking = 500 * time.Millisecond

func (k Keeper) keep(args, env []string, extra []*os.File) int {
	defaultSignals()
	sigs := make(chan os.Signal, 8)
	signal.Notify(sigs, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	p, err := NewParent()
	if err != nil {
		return refuse(err)
	}
	mark := keptMarker + "=" + rand.Text()
	env = append(slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, keptMarker+"=") }), mark)
	w, err := startWatcher(args, env, extra)
	for _, f := range extra {
		f.Close()
	}
	if err != nil {
		refuse(fmt.Errorf("start %s: %w", args[0], err))
		if errors.Is(err, fs.ErrNotExist) {
			return 127
		}
		return 126
	}
	root, _ := find(w.Pid)
	t := newTrace(mark, root.member, false)
	tick := time.NewTicker(looking)
	for alive := true; alive; {
		select {
		case sig := <-sigs:
			w.Signal(sig.(syscall.Signal))
		case <-tick.C:
			t.follow()
		case <-w.done:
			alive = false
		}
	}
	tick.Stop()
	ws := w.Reap()
	e := ending{look: t.look}
	if ws == 0 { // it has ended its own: what was let stay stays
		e.look = func() sight {
			s := t.look()
			s.alive = slices.DeleteFunc(s.alive, func(m member) bool {
				_, env := words(m.pid)
				return env == nil || slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, LeaveMarker+"=") })
			})
			return s
		}
	}
	if err := errors.Join(e.run(cmp.Or(k.Grace, DefaultGrace), nil), p.Close()); err != nil {
		return refuse(err)
	}
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// startWatcher starts args[0] in a process group of its own.
func startWatcher(args, env []string, extra []*os.File) (*Child, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	fd := descriptor(null)
	files := []uintptr{fd, fd, fd}
	for _, f := range extra {
		files = append(files, descriptor(f))
	}
	children.mu.Lock()
	defer children.mu.Unlock()
	pid, err := forkExec(args[0], args, &syscall.ProcAttr{Env: env, Files: files, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return nil, err
	}
	c := &Child{Pid: pid, done: make(chan struct{}), stopped: make(chan struct{}, 1)}
	children.byPID = map[int]*Child{pid: c}
	return c, nil
}
