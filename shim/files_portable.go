// SPDX-License-Identifier: Apache-2.0

//go:build darwin || portable

package shim

import "github.com/docker-hostexec/hostexec/shim/wire"

// files is a call by files, which are for containers: there is none here.
type files struct{}

func (c *call) requests(_ string, args []string) (string, []string) { return "", args }
func (c *call) byFiles(*wire.Exec, string, string) int              { return wire.CodeFailed }
func (f *files) leave(string) bool                                  { return true }
func (f *files) eof()                                               {}
