// SPDX-License-Identifier: Apache-2.0

package watch

import "github.com/docker-hostexec/hostexec/plugin/state"

// ModeOf returns what serves the session with record rec.
func ModeOf(rec state.Session) Mode {
	switch {
	case rec.Proxy != nil:
		return new(directoryMode)
	case rec.OnHost():
		return new(processMode)
	}
	return new(containerMode)
}
