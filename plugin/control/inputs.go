// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/inputs"
)

// Inputs are the files on whose content an approval can depend.
type Inputs struct {
	Files   []InputFile `json:"files"`
	Unbound []string    `json:"unbound,omitempty"` // what the command also uses; approvals hold when it changes, too
	Copied  bool        `json:"copied,omitempty"`  // the command gets a copy, which nobody can change
}

// InputFile is one file of Inputs.
type InputFile struct {
	Path   string `json:"path"`             // relative to the directory of the call
	Absent bool   `json:"absent,omitempty"` // it would be read if it existed
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

func shownInputs(s *inputs.Set) *Inputs {
	if s == nil {
		return nil
	}
	all := &Inputs{Files: make([]InputFile, len(s.Files)), Unbound: s.Unbound, Copied: s.Copied}
	for i, f := range s.Files {
		all.Files[i] = InputFile{f.Path, f.Absent, f.Size, f.SHA256}
	}
	return all
}

// String lists the files, and Unbound.
func (i *Inputs) String() string {
	if i == nil {
		return ""
	}
	list := make([]string, len(i.Files))
	for n, f := range i.Files {
		if list[n] = f.Path; f.Absent {
			list[n] = "no " + f.Path
		}
	}
	text := strings.Join(list, ", ")
	if i.Copied {
		text += ", as a copy that nobody can change"
	}
	return fmt.Sprintf("%s (not bound: %s)", text, strings.Join(i.Unbound, ", "))
}
