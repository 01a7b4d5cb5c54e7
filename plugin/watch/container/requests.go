// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"time"

	"github.com/containerd/errdefs"

	"github.com/docker-hostexec/hostexec/exec/limit"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// A container of --carrier files can write to its directories of requests, on the host's disk in the session's
// directory. The kernel has no limit for that if the user is not root. So the watcher measures these directories, and
// ends a container that exceeds a limit. Nothing less stops writes to a file that the container has open.

const (
	// diskPoll is the interval at which the free space of the disk is read, and measureInterval the maximum interval
	// between measurements. Neither applies while the directories are empty and the kernel reports changes.
	diskPoll, measureInterval = 50 * time.Millisecond, time.Second
	// maxWait is the maximum time between measurements that are slow, whatever the container does to make them slow.
	maxWait = 5 * time.Second
	// maxWatched is the number of directories in which changes are reported.
	maxWatched = 1024
	// byteStep and fileStep are the decrease of free space, in bytes and files, that triggers a measurement.
	byteStep, fileStep = 8 << 20, 256
)

// errUnmeasured means that only the container can read one of its directories, or that they are nested too deep.
var errUnmeasured = errors.New("it has made a directory there that cannot be measured")

// requestLimit limits the files that a container may put into its directories of requests.
type requestLimit struct {
	record *watch.Record
	calls  *watch.Calls
	killer *killer
	log    *slog.Logger
}

// watch measures the directories of requests of container id until ctx is done. It ends the container if they exceed a
// limit. While they are empty, it waits for a change.
func (r requestLimit) watch(ctx context.Context, api watch.Engine, id string) {
	root, err := os.OpenRoot(state.RequestsDir(r.record.Dir))
	if err != nil {
		r.log.Error("measure the directories of requests", "error", err)
		return
	}
	defer root.Close()
	reports := newChanges()
	defer reports.close()
	last, wait := time.Time{}, diskPoll
	// The size of all files there, except for answers that are being written.
	held := limit.Reservation{From: &r.calls.Server.Limits}
	defer held.Set(0)
	before := freeSpace(root.Name())
	var process firstProcess
	for watch.Pause(ctx, wait) {
		if time.Since(last) >= measureInterval {
			process.find(ctx, api, id)
		}
		wait = diskPoll
		now := freeSpace(root.Name())
		if time.Since(last) < measureInterval && before.bytes-now.bytes < byteStep && before.files-now.files < fileStep {
			continue
		}
		before, last = now, time.Now()
		waits := process.visible && reports.begin(root) // before it is measured, so that no change is missed
		used, err := r.measure(root, deletedFiles(process.pid))
		held.Force(max(0, used.bytes-(r.calls.Server.Limits.Held(limit.Spool)-held.Amount())))
		wait = waitAfter(time.Since(last))
		if err != nil {
			r.endContainer(ctx, api, id, err)
			clearRequests(root)
			process.pid = 0 // if it is started again
		} else if waits && used.empty && !reports.changed() {
			reports.wait(ctx)
			wait = 0
		} else {
			continue
		}
		before = freeSpace(root.Name())
	}
}

// waitAfter returns the time until the next measurement, after one that took the given time.
func waitAfter(took time.Duration) time.Duration { return min(max(diskPoll, 10*took), maxWait) }

// firstProcess is the container's first process.
type firstProcess struct {
	pid     int  // on the host; 0: the container has not started
	visible bool // this kernel runs the container, and so reports its changes to files
}

// find finds the first process of container id, unless the known one runs.
func (c *firstProcess) find(ctx context.Context, api watch.Engine, id string) {
	if c.pid != 0 && state.ProcessAlive(c.pid) {
		return
	}
	c.pid = 0
	if found, err := api.ContainerInspect(ctx, id); err == nil && found.State != nil {
		c.pid = found.State.Pid
		table, err := mountInfoOf(found)
		c.visible = c.visible || err == nil && table != ""
	}
}

type diskFree struct{ bytes, files int64 }

// usage is the disk usage of the directories of requests.
type usage struct {
	bytes int64
	empty bool // only empty files, which cannot grow without a reported change
}

// measure returns the usage of the directories, with that of deleted files that are still open. The error is the
// exceeded limit, or errUnmeasured. Answers alone cannot exceed limits.spool, and a container ends at 5/4 of that. So
// answers alone never end it.
func (r requestLimit) measure(root *os.Root, deleted usage) (used usage, err error) {
	maxSpace, maxEntries := r.calls.Server.Limits.Limit(limit.Spool), r.calls.Server.Limits.Limit(limit.Requests)
	used = deleted
	if fi, err := root.Stat("."); err == nil {
		used.bytes += onDisk(fi)
	}
	entries := int64(1)
	err = watch.Walk(root, func(e watch.Found, err error) error {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, watch.ErrTooDeep) {
			return errUnmeasured
		}
		if err != nil {
			return nil // removed meanwhile
		}
		if entries++; entries > maxEntries.Max {
			return maxEntries
		}
		if e.Info.IsDir() {
			used.empty = used.empty && e.Depth == 1
		} else {
			used.empty = used.empty && e.Depth <= 2 && e.Info.Size() == 0 && onDisk(e.Info) == 0
		}
		if used.bytes += onDisk(e.Info); used.bytes-maxSpace.Max > maxSpace.Max/4 {
			return maxSpace
		}
		return nil
	})
	if err == nil && used.bytes-maxSpace.Max > maxSpace.Max/4 {
		err = maxSpace
	}
	return used, err
}

// endContainer ends container id, and logs the reason.
func (r requestLimit) endContainer(ctx context.Context, api watch.Engine, id string, why error) {
	r.log.Error("the container fills its directories of requests: it is ended", "container", id, "reason", why)
	r.killer.audit(id, why)
	if err := api.ContainerKill(ctx, id, "KILL"); err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // it has ended
		r.log.Error("end the container", "error", err)
	}
}

// clearRequests removes the entries below the directories of requests, as far as possible. The directories
// themselves are needed if the container is started again.
func clearRequests(root *os.Root) {
	for _, name := range entries(root) {
		if fi, err := root.Lstat(name); err != nil || !fi.IsDir() {
			root.RemoveAll(name)
			continue
		}
		d, err := watch.OpenDir(root, name)
		if err != nil {
			continue
		}
		flatten(d)
		for _, below := range entries(d) {
			d.RemoveAll(below) // the next measurement includes the rest
		}
		d.Close()
	}
}

// flatten moves directories that are nested deeper than watch.MaxDepth to d itself: RemoveAll opens all levels at a time,
// and this process may not open so many files.
func flatten(d *os.Root) {
	for todo := []string{"."}; len(todo) > 0; todo = todo[1:] {
		at, err := watch.OpenDir(d, todo[0])
		if err != nil {
			continue
		}
		_ = watch.Walk(at, func(e watch.Found, err error) error {
			if errors.Is(err, watch.ErrTooDeep) {
				if name := state.NewID(); d.Rename(path.Join(todo[0], e.Path), name) == nil {
					todo = append(todo, name)
				}
			}
			return nil
		})
		at.Close()
	}
}

// entries returns the names of the entries of d, as far as d can be read.
func entries(d *os.Root) []string {
	f, err := d.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.Readdirnames(-1)
	return list
}
