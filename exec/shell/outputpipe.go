// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// outputPipe takes the stdout or stderr of a command. It is a FIFO, which a text can open again as /dev/stdout: a file
// would lose its content by O_TRUNC. What a command writes is copied to a file, so that a slow reader does not stop it.
type outputPipe struct {
	name string
	r, w *os.File // the ends of the FIFO; w keeps it open until the command has ended
	file *os.File // without a name
	to   *os.File // appends to file

	copied chan struct{} // closed when copy has ended; nil before start
	err    error         // of a write to file; valid when copied is closed
}

// newOutputPipe creates a FIFO called name. It has no descriptors before open.
func newOutputPipe(name string) (*outputPipe, error) {
	if err := mkfifo(name); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: name, Err: err}
	}
	return &outputPipe{name: name}, nil
}

// open opens the FIFO, and creates the file.
func (p *outputPipe) open() (err error) {
	spool := p.name + ".spool"
	defer os.Remove(spool)
	for _, to := range []struct {
		file **os.File
		name string
		flag int
	}{
		{&p.r, p.name, os.O_RDONLY},
		{&p.w, p.name, os.O_WRONLY},
		{&p.file, spool, os.O_RDWR | os.O_CREATE | os.O_EXCL},
		{&p.to, spool, os.O_WRONLY | os.O_APPEND},
	} {
		// Does not wait for the other end, also if an earlier text has exchanged the files.
		if *to.file, err = os.OpenFile(to.name, to.flag|nonblocking|syscall.O_NOCTTY, 0o600); err != nil {
			return err // the caller removes p
		}
	}
	return nil
}

// start copies to the file until finish.
func (p *outputPipe) start() {
	p.copied = make(chan struct{})
	// ends by finish, which waits.
	go func() {
		defer close(p.copied)
		p.err = p.copy()
	}()
}

// copy copies what is written until the deadline of r. On a full disk output is lost, but its writers go on.
func (p *outputPipe) copy() (lost error) {
	buf := make([]byte, 16<<10)
	for {
		n, err := p.r.Read(buf)
		if n > 0 {
			if _, err := p.to.Write(buf[:n]); err != nil && lost == nil {
				lost = err
			}
		}
		if err != nil {
			return lost
		}
	}
}

// finish copies what was written until now, and returns the error of the file. Background processes may write for ever.
func (p *outputPipe) finish() error {
	p.r.SetReadDeadline(time.Now())
	<-p.copied
	p.r.SetReadDeadline(time.Time{})
	n, err := queued(p.r)
	if err == nil {
		_, err = io.CopyN(p.to, p.r, int64(n))
	}
	return errors.Join(p.err, err)
}

// remove closes all files except those that were set to nil, and removes the FIFO.
func (p *outputPipe) remove() {
	os.Remove(p.name)
	for _, f := range []*os.File{p.r, p.w, p.file, p.to} {
		if f != nil {
			f.Close()
		}
	}
}
