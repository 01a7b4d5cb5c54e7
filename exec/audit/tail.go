// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// Tail returns the last complete lines of the log at path, at most size bytes in total. If the newest file is short
// because of a recent rotation, Tail also reads older ones.
func Tail(path string, size int64) (text []byte, err error) {
	all, err := snapshot(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	for _, s := range slices.Backward(all) {
		part, whole, err := s.last(size - int64(len(text)))
		if err != nil {
			return nil, err
		}
		text = append(part, text...)
		if !whole {
			break
		}
	}
	return text, nil
}

// last returns the last complete lines of a file that fit into size bytes. It reports whether they
// are the whole file.
func (s source) last(size int64) (text []byte, whole bool, err error) {
	from := max(0, s.left-size)
	text, err = io.ReadAll(io.NewSectionReader(s.f, from, s.left-from))
	if err != nil {
		return nil, false, err
	}
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text[:bytes.LastIndexByte(text, '\n')+1], from == 0, nil
}
