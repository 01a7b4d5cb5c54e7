// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"os/exec"
	"testing"
)

// BenchmarkExec is one command of a shell that does nothing; BenchmarkFork, against which it
// is held, a bash that forks one.
func BenchmarkExec(b *testing.B) {
	r := newFixture(b)
	s := r.shell(b, "one")
	r.text(b, s, ":")
	for b.Loop() {
		r.text(b, s, ":")
	}
}

func BenchmarkFork(b *testing.B) {
	check(b, exec.Command("bash", "--norc", "-c", fmt.Sprintf("for ((i = 0; i < %d; i++)); do /bin/true; done", b.N)).Run())
}
