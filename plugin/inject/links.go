// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// LinkDir is a directory in the PATH of login shells. They reset PATH, but all distributions include this
// directory.
const LinkDir = "/usr/local/bin"

// Linkable reports whether a link may replace the file at a path in LinkDir. It may if there is no file,
// or a link of ours from a committed container. The image's own files stay, because scripts name them
// (#!/usr/local/bin/python).
func Linkable(exists bool, linkTarget string) bool {
	return !exists || names.Within(linkTarget, Target)
}

// Links returns an archive to unpack at /. It has links in LinkDir to Bin for names, and to Rules for
// ruleNames. It has no entries for directories, because unpacking would fail if the image has a link in their
// place. The links dangle after the container is committed, as intended.
func Links(names, ruleNames []string) (io.Reader, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := errors.Join(writeLinks(w, Bin, names), writeLinks(w, Rules, ruleNames), w.Close()); err != nil {
		return nil, fmt.Errorf("link commands: %w", err)
	}
	return &buf, nil
}

func writeLinks(w *tar.Writer, dir string, names []string) error {
	for _, name := range names {
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeSymlink,
			Name:     strings.TrimPrefix(LinkDir, "/") + "/" + name,
			Linkname: dir + "/" + name,
			Mode:     0o777,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
