// SPDX-License-Identifier: Apache-2.0

// Package inputs finds the files whose content decides what a command runs, so that an approval can hold only while
// they are unchanged.
//
//	Command --Find--> Set --Digest--> the approval
//	                  Set, older Set --Diff--> what a person is shown
//
// Its invariant: a Set has all files of its kind, such as the makefiles of a make command, or there is no Set. Files
// are opened below the held directory of the call, through no link. Copies of operands are the host's own files. A file
// that does not exist, but would be read if it did, is in the Set as absent. Makefiles that a makefile includes are in
// the Set, and files that a compose file names. Set.Unbound describes what else the command uses, such as sources and
// tests: no approval depends on it.
package inputs

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
)

// Limits of one Set. The container chooses the files.
const (
	maxFiles = 200
	maxBytes = 4 << 20
)

var (
	errFiles = fmt.Errorf("there are more than %d of them", maxFiles)
	errBytes = fmt.Errorf("they have more than %d MiB", maxBytes>>20)
)

// File is one input. The path is printable ASCII, and relative to the directory of the call. For a copy of an operand,
// it is the caller's word.
type File struct {
	Path    string `json:"path"`
	Absent  bool   `json:"absent,omitempty"` // it would be read if it existed
	Size    int64  `json:"size,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	Content []byte `json:"content,omitempty"` // nil: not kept
}

// Set is all inputs of one command. The zero value and nil have none.
type Set struct {
	Call    string   `json:"call"` // digest of the command, its directory and its rule; equal for repeated calls
	Files   []File   `json:"files"`
	Unbound []string `json:"unbound,omitempty"` // what the command uses besides the files: no approval is bound to it
	Copied  bool     `json:"copied,omitempty"`  // the command gets copies: nobody can change them after the check
}

// Digest identifies the call, the files with their content, and Unbound. It is empty if there are no files.
func (s *Set) Digest() string {
	if s == nil || len(s.Files) == 0 {
		return ""
	}
	h := sha256.New()
	write(h, s.Call)
	for _, f := range s.Files {
		write(h, f.Path)
		write(h, f.SHA256) // empty for an absent one
	}
	for _, u := range s.Unbound {
		write(h, u)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ContentDigest is the Digest without Call.
func (s *Set) ContentDigest() string {
	if s == nil {
		return ""
	}
	all := *s
	all.Call = ""
	return all.Digest()
}

func write(h hash.Hash, s string) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	io.WriteString(h, s)
}

// maxKept is the number of bytes of content that an approval keeps for Diff.
const maxKept = 64 << 10

// Kept returns s for storage. Files that do not fit into the limit have no content.
func (s *Set) Kept() *Set {
	if s == nil {
		return nil
	}
	kept, left := *s, maxKept
	kept.Files = slices.Clone(s.Files)
	for i := range kept.Files {
		f := &kept.Files[i]
		if left -= len(f.Content); left < 0 {
			f.Content, left = nil, left+len(f.Content)
		}
	}
	return &kept
}

// Check returns an error unless s, which was read from a file, is a result of Find with Call set.
func (s *Set) Check() error {
	if len(s.Files) == 0 || len(s.Files) > maxFiles || s.Call == "" {
		return errors.New("it has no inputs")
	}
	for i, f := range s.Files {
		switch {
		case !printable(f.Path) || i > 0 && s.Files[i-1].Path >= f.Path:
			return errors.New("the paths of its inputs are not in order")
		case f.Absent != (f.SHA256 == "") || f.Content != nil && sum(f.Content) != f.SHA256:
			return fmt.Errorf("the digest of its input %s is wrong", f.Path)
		}
	}
	return nil
}

func sum(b []byte) string {
	all := sha256.Sum256(b)
	return hex.EncodeToString(all[:])
}

// printable reports whether s can be shown as it is.
func printable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
