// SPDX-License-Identifier: Apache-2.0

package dirtest

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Exchange exchanges two names, again and again, until the test ends.
func Exchange(t *testing.T, a, b string) {
	t.Helper()
	over := make(chan struct{})
	var attacker sync.WaitGroup
	t.Cleanup(func() { close(over); attacker.Wait() })
	// ends with the test.
	attacker.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			}
		}
	})
}
