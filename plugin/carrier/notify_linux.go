// SPDX-License-Identifier: Apache-2.0

package carrier

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
	places map[int32]*place // by the inotify's numbers; filled before anything is read
}

// event is a file that has come.
type event struct {
	p    *place
	name string
}

func newNotifier(places []*place) (*notifier, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil { // too many instances, for one: fs.inotify.max_user_instances
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	n := &notifier{
		Events: make(chan event), Errors: make(chan error), done: make(chan struct{}),
		f: os.NewFile(uintptr(fd), "inotify"), fd: fd, places: map[int32]*place{},
	}
	for _, p := range places {
		wd, err := unix.InotifyAddWatch(fd, p.Box.Held(), unix.IN_MOVED_TO|unix.IN_CLOSE_WRITE)
		if err != nil {
			return nil, errors.Join(os.NewSyscallError("inotify_add_watch", err), n.f.Close())
		}
		n.places[int32(wd)] = p
	}
	// ends when f is closed; Close waits for it.
	n.ended.Go(n.read)
	return n, nil
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
			n.tell(wd, mask, name)
		}
	}
}

// tell passes on what is news.
func (n *notifier) tell(wd int32, mask uint32, name []byte) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		select {
		case n.Errors <- unix.EOVERFLOW:
		case <-n.done:
		}
		return
	}
	text := unix.ByteSliceToString(name)
	if _, what, ok := split(text); text != probe && (!ok || !newsworthy[what]) {
		return
	}
	select {
	case n.Events <- event{n.places[wd], text}:
	case <-n.done:
	}
}

// newsworthy is what files of a call's are looked at as soon as they come.
var newsworthy = map[string]bool{"req": true, "cancel": true, "stdin": true, "eof": true}
