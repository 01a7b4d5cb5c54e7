// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// The services of a connection.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// maxLine is the maximum length of a command of git to its helper, in bytes.
const maxLine = 1 << 10

// readCommands answers the commands of git to its helper until one of them connects, and returns the name of the
// service to connect to. It returns "" if git ends before that.
func readCommands(in io.Reader, out io.Writer) (service string, err error) {
	for {
		line, err := readLine(in)
		switch name, connects := strings.CutPrefix(line, "connect "); {
		case errors.Is(err, io.EOF), err == nil && line == "":
			return "", nil
		case err != nil:
			return "", err
		case connects:
			return name, nil
		case line != "capabilities":
			return "", fmt.Errorf("git asks its helper for %s, which is not known", names.Quoted(line))
		}
		if _, err := io.WriteString(out, "connect\n\n"); err != nil {
			return "", err
		}
	}
}

// readLine reads a line and nothing after it.
func readLine(in io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) < maxLine {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
	return "", fmt.Errorf("a command of more than %d bytes", maxLine)
}
