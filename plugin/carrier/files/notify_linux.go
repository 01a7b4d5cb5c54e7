// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// notifier reports files that were renamed into directories, or written and closed there. Most other changes
// are this process's own, and to be notified of them would cost more than a call.
type notifier struct {
	Events chan event
	Errors chan error // the queue has overflowed
	f      *os.File   // the inotify(7)
	fd     int        // the same
	done   chan struct{}
	ended  sync.WaitGroup

	mu   sync.Mutex           // guards the field below
	dirs map[int32]*servedDir // by watch descriptor
}

// event is a new file.
type event struct {
	p    *servedDir
	name string
}

func newNotifier(dirs []*servedDir) (*notifier, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil { // too many instances, for one: fs.inotify.max_user_instances
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	n := &notifier{
		Events: make(chan event), Errors: make(chan error), done: make(chan struct{}),
		f: os.NewFile(uintptr(fd), "inotify"), fd: fd, dirs: map[int32]*servedDir{},
	}
	for _, p := range dirs {
		if err := n.add(p); err != nil {
			return nil, errors.Join(err, n.f.Close())
		}
	}
	// ends when f is closed; Close waits for it.
	n.ended.Go(n.read)
	return n, nil
}

// add watches p.
func (n *notifier) add(p *servedDir) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	wd, err := unix.InotifyAddWatch(n.fd, p.Dir.FDPath(), unix.IN_MOVED_TO|unix.IN_CLOSE_WRITE)
	if err != nil {
		return os.NewSyscallError("inotify_add_watch", err)
	}
	n.dirs[int32(wd)] = p
	return nil
}

// exchange watches next in place of p.
func (n *notifier) exchange(p, next *servedDir) error {
	n.mu.Lock()
	for wd, known := range n.dirs {
		if known == p {
			delete(n.dirs, wd)
			_, _ = unix.InotifyRmWatch(n.fd, uint32(wd)) // the kernel may have removed it
		}
	}
	n.mu.Unlock()
	return n.add(next)
}

// servedDir returns the directory of the watch descriptor wd, or nil.
func (n *notifier) servedDir(wd int32) *servedDir {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dirs[wd]
}

// Close ends the notifications.
func (n *notifier) Close() error {
	close(n.done)
	err := n.f.Close()
	n.ended.Wait()
	return err
}

func (n *notifier) read() {
	buf := make([]byte, 16<<10)
	for {
		m, err := n.f.Read(buf)
		if err != nil {
			return
		}
		for b := buf[:m]; len(b) >= unix.SizeofInotifyEvent; {
			wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
			size := min(int(binary.NativeEndian.Uint32(b[12:])), len(b)-unix.SizeofInotifyEvent)
			name := b[unix.SizeofInotifyEvent:][:size]
			b = b[unix.SizeofInotifyEvent+size:]
			n.dispatch(wd, mask, name)
		}
	}
}

// dispatch passes on the events of requests and calls.
func (n *notifier) dispatch(wd int32, mask uint32, name []byte) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		select {
		case n.Errors <- unix.EOVERFLOW:
		case <-n.done:
		}
		return
	}
	text := unix.ByteSliceToString(name)
	p := n.servedDir(wd)
	if p == nil {
		return
	}
	if _, kind, ok := split(text); text != probe && (!ok || !watchedSuffixes[kind]) {
		return
	}
	select {
	case n.Events <- event{p, text}:
	case <-n.done:
	}
}

// watchedSuffixes are the kinds of files that are read as soon as they appear.
var watchedSuffixes = map[string]bool{"req": true, "cancel": true, "stdin": true, "eof": true}
