// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"errors"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// varyingJSON is a VaryingArgument in the JSON file.
type varyingJSON struct {
	Argument int           `json:"argument"`
	Form     policy.Form   `json:"form"`
	Words    []quotedBytes `json:"words,omitempty"`
	Below    quotedBytes   `json:"below,omitempty"` // in the container
	Dir      quotedBytes   `json:"dir,omitempty"`   // on the host
}

func (v *VaryingArgument) fileForm() *varyingJSON {
	if v == nil {
		return nil
	}
	return &varyingJSON{
		Argument: v.Argument, Form: v.Form, Words: exactArgs(v.Words),
		Below: quotedBytes(v.Mount.Target), Dir: quotedBytes(v.Mount.Source),
	}
}

func (f *varyingJSON) varying() *VaryingArgument {
	if f == nil {
		return nil
	}
	return &VaryingArgument{Argument: f.Argument, Form: f.Form, Words: texts(f.Words), Mount: BindMount{string(f.Below), string(f.Dir)}}
}

// checkVary refuses a varying argument that no grant could have.
func (k grantJSON) checkVary() error {
	v := k.Vary.varying()
	if v == nil {
		return nil
	}
	words, path := v.Form == policy.FormWords, v.Form == policy.FormPath
	switch {
	case v.Argument < 1 || v.Argument >= len(k.Args) || v.Argument > policy.MaxVarying:
		return errors.New("the argument that varies is none of its arguments")
	case words != (len(v.Words) > 0), path != (v.Mount.Target != ""), path != (v.Mount.Source != ""), words && v.checkWords() != nil:
		return errors.New("it does not say how the argument varies")
	case !v.accepts(string(k.Args[v.Argument])):
		return errors.New("the argument that varies does not have the form that it states")
	}
	return nil
}
