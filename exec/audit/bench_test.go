// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkVerify verifies a log of b.N requests, each with three records.
func BenchmarkVerify(b *testing.B) {
	path := filepath.Join(b.TempDir(), "audit.log")
	writeRequests(b, path, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	r, err := OpenReader(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	if rep, err := Verify(r); err != nil || len(rep.Faults) > 0 || rep.Records != 3*b.N {
		b.Fatal(rep, err)
	}
}

// writeRequests writes a log of n requests that a rule allowed.
func writeRequests(t testing.TB, path string, n int) {
	a, err := Open(path, SessionInfo{Project: "app", Branch: "main", Session: "0123456789ab", Container: "web"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for i := range n {
		r := Record{Args: []string{"git", "commit", "-m", fmt.Sprintf("change number %d", i)}, Request: fmt.Sprintf("%032x", i),
			Rule: "git", Path: "/usr/bin/git", Dir: "/home/user/app", Duration: time.Second}
		for _, r.Kind = range []Kind{AutoApprove, Start, Complete} {
			if err := a.Write(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}
