// SPDX-License-Identifier: Apache-2.0

package dir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// makeBelow opens rest below base one element at a time, and makes missing directories.
func makeBelow(base *Base, rest string, access Access) (int, []Step, error) {
	at, err := openAcrossMounts(base.fd, ".")
	if err != nil || rest == "." {
		return at, nil, err
	}
	var steps []Step
	elements := strings.Split(rest, "/")
	for i, name := range elements {
		mode := uint32(0o700)
		switch {
		case access != ForEveryone:
		case i == len(elements)-1:
			mode = 0o777
		default:
			mode = 0o711
		}
		next, err := makeEntry(at, name, mode)
		unix.Close(at)
		if err != nil {
			return -1, nil, err
		}
		at = next
		step, err := describeStep(at)
		if err != nil {
			unix.Close(at)
			return -1, nil, err
		}
		step.Path = path.Join(base.path, path.Join(elements[:i+1]...))
		steps = append(steps, step)
	}
	return at, steps, nil
}

func describeStep(fd int) (Step, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	mode := fs.FileMode(st.Mode & 0o777)
	if st.Mode&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return Step{UID: int(st.Uid), Mode: mode}, err
}

func makeEntry(at int, name string, mode uint32) (int, error) {
	if name == ".." {
		return -1, unix.EXDEV
	}
	merr := unix.Mkdirat(at, name, 0o700)
	if merr != nil && merr != unix.EEXIST {
		return -1, merr
	}
	fd, err := unix.Openat(at, name, openFlags|unix.O_NOFOLLOW, 0)
	if err == unix.ENOTDIR && isLink(at, name) {
		return -1, errLink
	}
	if err == nil && merr == nil {
		if err = setMode(fd, mode); err != nil {
			unix.Close(fd)
		}
	}
	return fd, err
}

// setMode sets the mode of a directory that was just made. It does not change the umask, which commands that start now
// would inherit. Another directory may have replaced the new one: only an empty directory gets the mode.
func setMode(fd int, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&0o777 == mode {
		return err
	}
	f, err := reopenFile(fd, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); !errors.Is(err, io.EOF) {
		return errors.Join(ErrReplaced, err)
	}
	return f.Chmod(fs.FileMode(mode))
}
