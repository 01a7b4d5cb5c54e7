// SPDX-License-Identifier: Apache-2.0

package job

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

const (
	stdoutFile   = "stdout"
	stderrFile   = "stderr"
	combinedFile = "combined"
	statusFile   = "status.json"
)

// outputFiles holds the files of a command's output. They are not the command's descriptors: only a
// process that reads both streams knows their order.
type outputFiles struct {
	stdout, stderr, combined *os.File

	enc encoder
	err error // the first error; after it nothing is stored
}

func (o *outputFiles) open(dir string) (err error) {
	for name, f := range map[string]**os.File{stdoutFile: &o.stdout, stderrFile: &o.stderr, combinedFile: &o.combined} {
		// O_EXCL also refuses symbolic links (open(2)).
		*f, err = os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		if err != nil {
			return errors.Join(err, o.close())
		}
	}
	return nil
}

func (o *outputFiles) close() error {
	var errs []error
	for _, f := range []*os.File{o.stdout, o.stderr, o.combined} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

var encoded = sync.Pool{New: func() any { return new([]byte) }}

// write writes b if take reserves the space, and reports whether b was stored. Once output has been
// dropped, all later output is dropped too.
func (o *outputFiles) write(s Stream, b []byte, take func(int64) bool) bool {
	if o.err != nil {
		return false
	}
	log := encoded.Get().(*[]byte)
	defer encoded.Put(log)
	*log = o.enc.append((*log)[:0], s, b)
	if !take(int64(len(b) + len(*log))) {
		return false
	}
	f := o.stdout
	if s == Stderr {
		f = o.stderr
	}
	if _, o.err = f.Write(b); o.err != nil {
		return false
	}
	// One write, so that a concurrent reader sees complete pairs.
	_, o.err = o.combined.Write(*log)
	return o.err == nil
}

// writer is one stream of a job. A command does not fail because its output cannot be stored. It
// continues, and dropped bytes are counted.
type writer struct {
	j *Job
	s Stream
}

func (w writer) Write(b []byte) (int, error) {
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	info := &w.j.info
	n := max(0, min(int64(len(b)), w.j.table.limit()-info.Stdout-info.Stderr))
	take := func(size int64) bool { return w.j.table.reserve(w.j, size) }
	if info.Dropped > 0 || n > 0 && !w.j.out.write(w.s, b[:n], take) {
		n = 0
	}
	info.Dropped += int64(len(b)) - n
	if w.s == Stdout {
		info.Stdout += n
	} else {
		info.Stderr += n
	}
	w.j.outputChanged.Send()
	return len(b), nil
}
