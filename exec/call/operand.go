// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/inputs"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// operands checks the arguments that must be files or directories of the mounts. It replaces a file by the path of a
// copy that the container cannot reach: the copy is shown, and runs. For a directory, or if the rule requires no copy,
// the argument may name another file on the host. Then operands replaces it by the path of the checked file.
func (dc *decidedCall) operands(req *request) error {
	if len(dc.v.Paths) == 0 {
		return nil
	}
	dc.v.Args = slices.Clone(dc.v.Args)
	copied, given := map[int]string{}, slices.Clone(dc.v.Args)
	for _, check := range dc.v.Paths {
		arg := dc.v.Args[check.Index]
		shown := strconv.QuoteToASCII(arg)
		f, err := dc.config.operand(req.Cwd, arg, check.Type)
		if err != nil {
			return fmt.Errorf("argument %s: %v", shown, err) // not wrapped: a missing file is not a missing program
		}
		if !dc.v.Place.InContainer() { // a container has the file at the path that the caller uses
			dc.v.Args[check.Index] = onHost(dc.cwd.Path(), arg, f.Path())
		}
		switch {
		case f.Regular() && check.Snapshot.Copies(dc.v.Place.InContainer()):
			var sum string
			if copied[check.Index], sum, err = dc.snapshot(req.ID, check.Index, f); err == nil {
				dc.notes = append(dc.notes, fmt.Sprintf("argument %d is a copy of %s, sha256 %s", check.Index, shown, sum))
			}
		case f.IsDir() && check.Snapshot == policy.SnapshotAll:
			err = errors.New("it is a directory, and snapshot: true copies files only")
		}
		f.Close()
		if err != nil {
			return fmt.Errorf("copy argument %s: %w", shown, err)
		}
	}
	if len(copied) > 0 {
		dc.copies.settle()
		dc.copied = map[int]inputs.Copy{}
	}
	for i, name := range copied {
		dc.v.Args[i] = filepath.Join(dc.copies.dir, name)
		dc.copied[i] = inputs.Copy{Name: given[i], Path: dc.v.Args[i]}
	}
	return nil
}

// onHost returns arg if a program in cwd finds the file file by it, and otherwise file. The container may
// see the file at another path.
func onHost(cwd, arg, file string) string {
	at := arg
	if !filepath.IsAbs(at) {
		at = filepath.Join(cwd, arg)
	}
	if filepath.Clean(at) == file {
		return arg
	}
	return file
}

// operand finds the file that arg names for a caller in cwd.
func (sc *SessionConfig) operand(cwd, arg string, typ policy.FileType) (*dir.File, error) {
	if slices.Contains(strings.Split(arg, "/"), "..") {
		return nil, errors.New(`".." is on the way`) // after a link it leads to another directory
	}
	at := arg
	if !path.IsAbs(at) {
		at = path.Join(cwd, arg)
	}
	f, err := sc.Dirs.File(at)
	if errors.Is(err, mount.ErrMismatch) { // the file is not a working directory
		err = errors.New(strings.TrimPrefix(err.Error(), mount.ErrMismatch.Error()+": "))
	}
	if err != nil {
		return nil, err
	}
	switch {
	case typ == policy.TypeDir && !f.IsDir():
		err = errors.New("not a directory")
	case typ == policy.TypeFile && !f.Regular(), !f.IsDir() && !f.Regular():
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
