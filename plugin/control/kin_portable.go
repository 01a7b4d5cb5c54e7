// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package control

import (
	"github.com/docker-hostexec/hostexec/exec/proctree"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// called reports whether process pid was started by a call of some session: a keeper is above
// it, or it carries what commands are marked with. Nobody adopts what has lost its parent here:
// of that, only the mark tells.
func called(pid int) bool { return proctree.Below(pid, state.KeeperName) }
