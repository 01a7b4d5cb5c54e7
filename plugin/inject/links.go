// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// LinkDir is where login shells still look: /etc/profile resets PATH, but no
// distribution leaves this one out.
const LinkDir = "/usr/local/bin"

// Linkable reports whether a link may take the place of what a container has at a path
// of LinkDir: nothing, or a link of ours from a container that was committed. What the
// image put there stays, for its own scripts name it (#!/usr/local/bin/python).
func Linkable(exists bool, linkTarget string) bool {
	return !exists || Within(linkTarget, Target)
}

// Links returns an archive that is unpacked at /. It has a link in LinkDir for each of names, to Bin, and for each
// of ruled, to Rules. It has no entries for directories: where the image has a link for one of those,
// unpacking would fail. They dangle when the container is committed, which is right.
func Links(names, ruled []string) (io.Reader, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := errors.Join(writeLinks(w, Bin, names), writeLinks(w, Rules, ruled), w.Close()); err != nil {
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
