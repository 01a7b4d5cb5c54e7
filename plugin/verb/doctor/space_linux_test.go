// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/dir/dirtest"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestDoctorFull checks that a disk without space, or without inodes, is reported as full.
func TestDoctorFull(t *testing.T) {
	if !dirtest.OwnMounts(t) {
		return
	}
	for _, options := range []string{"mode=700,size=64k", "mode=700,nr_inodes=8"} {
		home := t.TempDir()
		dirtest.Mount(t, "none", home, "tmpfs", 0, options)
		for i := range 10 {
			os.WriteFile(filepath.Join(home, strconv.Itoa(i)), nil, 0o600) // until there is no inode
		}
		d := &doctor{store: &state.Store{Home: home}}
		d.scratch, d.scratchErr = d.makeScratch()
		d.stateDirectory().is(t, options, isFail, "no space left", "df -h "+home, "df -i "+home)
		if d.scratchErr != nil {
			d.locks().is(t, options, isFail, "no space left", "df -i "+home)
		}
	}
}
