// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package container

import (
	"context"
	"os"
)

// changes reports changes of files. It is not supported on this system.
type changes struct{}

func newChanges() *changes { return nil }

func (*changes) begin(*os.Root) bool { return false }

func (*changes) changed() bool { return true }

func (*changes) wait(context.Context) {}

func (*changes) close() {}
