// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// TestFullDisk: the caller is told which directory is full, and of no other error's.
func TestFullDisk(t *testing.T) {
	at := func(err error) error {
		return fmt.Errorf("write audit log: %w", &fs.PathError{Op: "write", Path: "/state/audit.log", Err: err})
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{at(syscall.ENOSPC), ": no space left in /state on the host"},
		{at(syscall.EDQUOT), ": no space left in /state on the host"},
		{at(syscall.EACCES), ""},
		{errors.New("other"), ""},
		{nil, ""},
	} {
		if got := fullDisk(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
		if tt.want == "" || tt.err == nil {
			continue
		}
		req := &request{Request: policy.Request{Args: []string{"make"}}}
		r := &shellRun{x: &exchange{req: req}, dc: &decidedCall{}}
		for _, e := range []Failure{notRun(req, &policy.Verdict{}, tt.err), r.endReason(tt.err)} {
			if !strings.HasSuffix(e.Reason, tt.want) || !strings.Contains(e.Hint, "doctor") {
				t.Errorf("%v: the caller is told %+v", tt.err, e)
			}
		}
	}
}
