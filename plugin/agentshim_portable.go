// SPDX-License-Identifier: Apache-2.0

//go:build !linux || portable

package plugin

import (
	"fmt"
	"os"

	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// fillHost names this program as the shims of an agent on this host: the shims that it carries
// are for containers, which are Linux.
func fillHost(l *launch) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the shim: %w", err)
	}
	return inject.FillLinked(l.dir, exe, l.plan.rec.Names())
}
