// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

//go:embed install.bash
var installScript string

// installed is the program in a container. Once the program runs, it does not need its file: then call remove.
type installed struct {
	path  string
	stdio io.Closer
}

// remove has the program's file removed. At the end of the connection, whatever ends it, that is done too.
func (i *installed) remove() { i.stdio.Close() }

// maxInstallLine is the maximum length of a line of the script.
const maxInstallLine = 1024

// errNoExec means that the user can write no directory from which programs run.
var errNoExec = errors.New("noexec")

// install puts the program into a container, through the bash that a shell needs anyway. A copy by the engine cannot
// reach the file systems in memory of a read-only container. The file systems that the container's user can write may
// all be mounted noexec, as Docker's are. Then root writes the program into /dev, where the user cannot change it.
func install(ctx context.Context, c Container, id string) (*installed, error) {
	i, err := installAs(ctx, c, id, false)
	if errors.Is(err, errNoExec) {
		i, err = installAs(ctx, c, id, true)
	}
	if errors.Is(err, errNoExec) {
		err = &ContainerError{c.Name(), "no directory that can be written lets programs run (noexec), neither for its user nor /dev for root: " +
			"start it with --tmpfs /tmp:exec"}
	}
	return i, err
}

// installAs installs the program as the container's user, or as root.
func installAs(ctx context.Context, c Container, id string, root bool) (*installed, error) {
	program, size, err := c.Program(ctx)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	stdio, exit, err := c.Start(ctx, installArgs(id, size, root), root)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { stdio.Close() })
	in := bufio.NewReaderSize(stdio, maxInstallLine)
	at, err := installedPath(in)
	if err == nil {
		if _, err = io.Copy(stdio, program); err == nil {
			_, err = installLine(in, "ready")
		}
	}
	if err != nil {
		err = installError(ctx, c.Name(), err, in, exit)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		stdio.Close()
		return nil, err
	}
	return &installed{at, stdio}, nil
}

// installArgs returns the command that installs the program. Root writes only in a directory that only root can
// write.
func installArgs(id string, size int64, root bool) []string {
	script, mode := installScript, "700"
	dirs := []string{"/dev"}
	if root {
		mode = "755"
	} else {
		script = `set -- "$1" "$2" "$3" "$TMPDIR" /tmp /var/tmp /dev/shm /run "$HOME" /dev` + "\n" + script
		dirs = nil
	}
	args := []string{"bash", "--norc", "--noprofile", "-p", "-c", script, "hostexec-install", "hostexec-" + id, strconv.FormatInt(size, 10), mode}
	return append(args, dirs...)
}

// installedPath reads the future path of the program.
func installedPath(in *bufio.Reader) (string, error) {
	at, err := installLine(in, "at")
	if err == nil && !path.IsAbs(at) {
		err = errInvalid
	}
	return at, err
}

// installFailure is a reason that the script has printed.
type installFailure string

func (e installFailure) Error() string { return string(e) }

// installLine reads a line of the script that begins with word, and returns the rest of it.
func installLine(in *bufio.Reader, word string) (string, error) {
	b, err := in.ReadSlice('\n')
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, printable(b))
	}
	got, rest, _ := strings.Cut(strings.TrimSuffix(string(b), "\n"), " ")
	switch {
	case got == word:
		return rest, nil
	case got == "fail" && rest == errNoExec.Error():
		return "", errNoExec
	case got == "fail":
		return "", installFailure(printable([]byte(rest)))
	}
	return "", fmt.Errorf("bash says %s", printable(b))
}

// installError returns the reason why the program cannot be installed: the error of the script, or else of the
// engine.
func installError(ctx context.Context, name string, err error, in io.Reader, exit func(context.Context) (int, error)) error {
	var failure installFailure
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.Is(err, errNoExec):
		return err
	case errors.As(err, &failure), errors.Is(err, errInvalid), errors.Is(err, bufio.ErrBufferFull):
		return &ContainerError{name, err.Error()}
	}
	io.Copy(io.Discard, io.LimitReader(in, 1<<20))
	if code, _ := exit(ctx); code == 126 || code == 127 {
		return &ContainerError{name, "it has no bash, and shells with state are bash: install it in the image"}
	}
	return &ContainerError{name, "hostexec's program cannot be put there: " + err.Error()}
}
