// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"errors"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/inputs"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
)

// granted returns the grant that approves ask. Files are read only if no grant holds for any files. Then it adds them
// to ask, with their differences from the approved ones.
func (x asking) granted(ask *approval.Question) (approval.Grant, bool) {
	grant, ok := x.useGrant(*ask)
	if ok {
		return grant, true
	}
	if x.dc.findInputs(x.req, ask) == "" {
		return grant, false
	}
	if grant, ok = x.useGrant(*ask); ok {
		return grant, true
	}
	if before := x.server.Queue.ApprovedInputs(ask.Inputs.Call); before != nil {
		ask.Diff = inputs.Diff(before, ask.Inputs)
	}
	return grant, false
}

// useGrant uses a grant for ask, if there is one. If it cannot be used, a person is asked.
func (x asking) useGrant(ask approval.Question) (approval.Grant, bool) {
	grant, ok, err := x.server.Queue.Granted(ask)
	if err != nil {
		x.server.Log.Error("use a grant", "request", x.req.ID, "error", err)
	}
	return grant, ok
}

// findInputs reads the files on which an approval of dc can depend, into ask, and returns their digest. It is empty if
// there are none.
func (dc *decidedCall) findInputs(req *request, ask *approval.Question) string {
	set, err := dc.inputs(req)
	if err != nil {
		ask.Inputs, ask.NoInputs = nil, names.Plain(err.Error())
		return ""
	}
	ask.Inputs = set.Kept() // hundreds of callers can wait, each with its own set
	return set.Digest()
}

// inputs returns the files on which an approval of dc can depend, or why it cannot.
func (dc *decidedCall) inputs(req *request) (*inputs.Set, error) {
	switch {
	case req.shell != nil:
		return nil, errors.New("earlier commands of the shell may have changed what this one means")
	case req.git != nil || req.Args[0] == policy.GitPush || dc.cwd == nil:
		return nil, errors.New("it reads no files of its directory")
	}
	c := inputs.Command{
		Name: cmp.Or(dc.v.Command.Path, dc.v.Command.Name), Args: dc.v.Args, Env: dc.env, Dir: dc.cwd,
		RunsDirCode: dc.config.Policy.RunsDirCode(dc.v.Args[0], dc.v.Command.Path), Confined: dc.v.Place.Confined(), Globs: dc.v.Inputs, Copies: dc.copied,
	}
	if dc.config.Dirs != nil {
		_, c.Root, _ = dc.config.Dirs.BindMount(req.Cwd)
	}
	set, err := c.Find()
	if err != nil {
		return nil, err
	}
	call := approval.Question{
		Args: req.Args, Cwd: req.Cwd, Dir: dc.cwd.Path(), Path: dc.v.Program(), Rule: dc.v.Rule, Session: dc.config.Session, Container: dc.config.Container,
	}
	set.Call = call.Digest()
	return set, nil
}
