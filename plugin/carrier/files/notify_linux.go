// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// notifier tells of files that come whole into directories: those that were renamed, and
// those that were written and closed. What else happens to a file is no news to us, and for
// the most part our own doing: to be woken by each step of a call would cost more than the call.
type notifier struct {
	Events chan event
	Errors chan error // the queue has run over
	f      *os.File   // the inotify(7)
	fd     int        // the same
	done   chan struct{}
	ended  sync.WaitGroup

	mu     sync.Mutex            // guards the field below
	places map[int32]*requestDir // by watch descriptor
}

// event is a file that has come.
type event struct {
	p    *requestDir
	name string
}

func newNotifier(places []*requestDir) (*notifier, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil { // too many instances, for one: fs.inotify.max_user_instances
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	n := &notifier{
		Events: make(chan event), Errors: make(chan error), done: make(chan struct{}),
		f: os.NewFile(uintptr(fd), "inotify"), fd: fd, places: map[int32]*requestDir{},
	}
	for _, p := range places {
		if err := n.add(p); err != nil {
			return nil, errors.Join(err, n.f.Close())
		}
	}
	// ends when f is closed; Close waits for it.
	n.ended.Go(n.read)
	return n, nil
}

// add watches p.
func (n *notifier) add(p *requestDir) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	wd, err := unix.InotifyAddWatch(n.fd, p.Dir.FDPath(), unix.IN_MOVED_TO|unix.IN_CLOSE_WRITE)
	if err != nil {
		return os.NewSyscallError("inotify_add_watch", err)
	}
	n.places[int32(wd)] = p
	return nil
}

// exchange watches next in place of p.
func (n *notifier) exchange(p, next *requestDir) error {
	n.mu.Lock()
	for wd, known := range n.places {
		if known == p {
			delete(n.places, wd)
			_, _ = unix.InotifyRmWatch(n.fd, uint32(wd)) // the kernel may have removed it
		}
	}
	n.mu.Unlock()
	return n.add(next)
}

// requestDir returns the directory of the watch descriptor wd, or nil.
func (n *notifier) requestDir(wd int32) *requestDir {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.places[wd]
}

// Close ends it.
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

// dispatch passes on what is news.
func (n *notifier) dispatch(wd int32, mask uint32, name []byte) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		select {
		case n.Errors <- unix.EOVERFLOW:
		case <-n.done:
		}
		return
	}
	text := unix.ByteSliceToString(name)
	p := n.requestDir(wd)
	if p == nil {
		return
	}
	if _, what, ok := split(text); text != probe && (!ok || !watchedSuffixes[what]) {
		return
	}
	select {
	case n.Events <- event{p, text}:
	case <-n.done:
	}
}

// watchedSuffixes is what files of a call's are looked at as soon as they come.
var watchedSuffixes = map[string]bool{"req": true, "cancel": true, "stdin": true, "eof": true}
