// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/plugin/config"
)

// A log that nobody has configured is rotated, and its oldest files are removed.
//
// Attack 132.
func TestAuditing(t *testing.T) {
	for _, tt := range []struct {
		c      config.Audit
		rotate int64
		keep   int
	}{
		{config.Audit{}, audit.DefaultRotate, audit.DefaultKeep},
		{config.Audit{Rotate: 5, Keep: 2}, 5, 2},
		{config.Audit{Rotate: config.Never, Keep: config.Never}, 0, 0},
	} {
		if o := auditOptions(tt.c); o.Rotate != tt.rotate || o.Keep != tt.keep {
			t.Errorf("%+v: rotated at %d, %d kept, want %d and %d", tt.c, o.Rotate, o.Keep, tt.rotate, tt.keep)
		}
	}
}
