// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/docker-hostexec/hostexec/exec/limit"
)

// files are the files of one command on this host: its script, its output, and its exit status.
type files struct {
	*fileSet
	table   *Table
	bash    string
	text    string // path of a file with the command's text, if it is parsed first
	done    string // path of the files with the exit code and the pid, without extension
	watcher *dirWatcher
	id      string
	changes <-chan struct{}
	named   []string // files that have their value in their names
}

// open makes the files of the command id.
func (p *hostProcess) open(id string) (*files, error) {
	w, err := p.table.ready()
	if err != nil {
		return nil, err
	}
	s, err := p.table.spare.take(p.table.Dir)
	if err != nil {
		return nil, err
	}
	return &files{fileSet: s, table: p.table, bash: p.bash, text: filepath.Join(p.table.Dir, id+".txt"), done: filepath.Join(w.dir, id), watcher: w, id: id, changes: w.listen(id)}, nil
}

func (f *files) names() scriptNames {
	return scriptNames{script: f.script.Name(), text: f.text, out: f.out.name, err: f.err.name, exit: f.done + ".exit", pid: f.done + ".pid", bash: f.bash, mv: mv()}
}

// write writes script for the shell, and text for the parser.
func (f *files) write(script, text string) error {
	err := f.fileSet.write(script)
	if err == nil && text != "" {
		err = os.WriteFile(f.text, []byte(text), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write a command: %w", err)
	}
	return nil
}

// wakeups returns a channel that receives when files of the command may have changed.
func (f *files) wakeups() <-chan struct{} { return f.changes }

// exited returns the exit code of the command, once it has ended.
func (f *files) exited() (int, bool) { return f.number(f.done + ".exit") }

// pid returns the pid of the copy that runs the command, once it is known.
func (f *files) pid() (int, bool) { return f.number(f.done + ".pid") }

// reuse keeps the files that the next command can use. The command must have ended normally.
func (f *files) reuse() {
	if len(f.named) == 0 { // else the script may have got another name
		f.table.spare.putBack(f.fileSet)
	}
}

// remove closes and removes the files. Output that is written to them later is dropped.
func (f *files) remove() {
	f.watcher.forget(f.id)
	for _, p := range []*outputPipe{f.out, f.err} {
		f.table.spool.drop(p.file)
		f.table.spool.discard(p.r)
		p.r, p.file = nil, nil
	}
	f.fileSet.remove()
	for _, name := range append(f.named, f.text, f.done+".pid", f.done+".exit") {
		syscall.Unlink(name) // most are not there, where os.Remove would try rmdir(2)
	}
}

// number reads the number that scriptNames.store wrote.
func (f *files) number(file string) (int, bool) {
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false
	}
	line, whole := strings.CutSuffix(string(b), "\n")
	if !whole {
		return f.numberInName(file)
	}
	n, err := strconv.Atoi(line)
	return n, err == nil
}

// numberInName looks for a value in a file name: on a full disk, store puts it there.
func (f *files) numberInName(file string) (int, bool) {
	dir, base := filepath.Split(file)
	entries, _ := os.ReadDir(dir) // without it nothing has ended
	for _, e := range entries {
		value, ok := strings.CutPrefix(e.Name(), base+".")
		if n, err := strconv.Atoi(value); ok && err == nil {
			f.named = append(f.named, filepath.Join(dir, e.Name()))
			return n, true
		}
	}
	return 0, false
}

// Spool returns a file for output that is delivered whole at the end. The file counts as output of the shells. It has
// no name, so closing it frees its space.
func (t *Table) Spool() (io.ReadWriteSeeker, error) {
	if _, err := t.ready(); err != nil {
		return nil, err
	}
	f, err := Spool(t.Dir)
	if err != nil {
		return nil, err
	}
	return &limitedFile{f: f, held: limit.Reservation{From: t.limits()}}, nil
}
