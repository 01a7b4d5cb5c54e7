// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"archive/tar"
	"bytes"
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

// Links returns an archive, to be unpacked at /, of a link in LinkDir for each of names.
// It has no entries for directories: where the image has a link for one of those,
// unpacking would fail. They dangle when the container is committed, which is right.
func Links(names []string) (io.Reader, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range names {
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeSymlink,
			Name:     strings.TrimPrefix(LinkDir, "/") + "/" + name,
			Linkname: Bin + "/" + name,
			Mode:     0o777,
		})
		if err != nil {
			return nil, fmt.Errorf("link %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("link commands: %w", err)
	}
	return &buf, nil
}
