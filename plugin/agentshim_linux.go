// SPDX-License-Identifier: Apache-2.0

//go:build !portable

package plugin

import (
	"runtime"

	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// fillHost puts the shims of an agent on this host into its session's share.
func fillHost(l *launch) error {
	return inject.Fill(l.store.Home, l.dir, runtime.GOARCH, l.plan.rec.Names())
}
