// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// files are those of one command: what it runs, what it writes, how it ended.
type files struct {
	script   string // what the shell reads
	text     string // the command's own text, where that is looked at first
	out, err *os.File
	done     string // directory and id
	bell     *bell
	id       string
	rung     <-chan struct{} // receives when there may be news
}

// open makes the files of command id.
func (p *Pool) open(id string) (f *files, err error) {
	b, err := p.ready()
	if err != nil {
		return nil, err
	}
	base := filepath.Join(p.Dir, id)
	f = &files{script: base + ".cmd", text: base + ".txt", done: filepath.Join(b.dir, id), bell: b, id: id, rung: b.listen(id)}
	if f.out, err = create(base + ".out"); err == nil {
		f.err, err = create(base + ".err")
	}
	if err != nil {
		f.remove()
		return nil, fmt.Errorf("make the files of a command: %w", err)
	}
	return f, nil
}

func create(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// remove closes and removes them all. What still writes writes into nothing.
func (f *files) remove() {
	f.bell.forget(f.id)
	for _, file := range []*os.File{f.out, f.err} {
		if file != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}
	for _, name := range []string{f.script, f.text, f.pidFile(), f.pidFile() + ".tmp", f.exitFile(), f.exitFile() + ".tmp"} {
		os.Remove(name)
	}
}

func write(name, text string) error {
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write a command: %w", err)
	}
	return nil
}

func (f *files) exitFile() string { return f.done + ".exit" }
func (f *files) pidFile() string  { return f.done + ".pid" }

// number reads what renamed wrote, whole.
func number(file string) (int, bool) {
	b, err := os.ReadFile(file)
	line, whole := strings.CutSuffix(string(b), "\n")
	if err != nil || !whole {
		return 0, false
	}
	n, err := strconv.Atoi(line)
	return n, err == nil
}

var errEnded = errors.New("the shell has ended")

// Spool returns a file for output that somebody wants whole. It is gone with its descriptor.
func (p *Pool) Spool() (*os.File, error) {
	if _, err := p.ready(); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(p.Dir, "spool-*")
	if err != nil {
		return nil, fmt.Errorf("keep output: %w", err)
	}
	os.Remove(f.Name())
	return f, nil
}
