// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// maxInit is what our packages may allocate before main runs. Each run of docker hostexec
// starts the program some five times, and every watcher keeps most of it for all its life:
// package variables that are compiled regular expressions took 1.9 MB.
const maxInit = 64 << 10

// TestIntegrationInit adds up the runtime's figures of package initialization (GODEBUG in package
// runtime).
func TestIntegrationInit(t *testing.T) {
	total, lines := 0, 0
	for line := range strings.Lines(initTrace(t, "--help")) {
		if !strings.HasPrefix(line, "init "+module) {
			continue
		}
		var name string
		var at, took float64
		var size int
		_, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &took, &size)
		check(t, err)
		total, lines = total+size, lines+1
		t.Logf("%7d bytes: %s", size, name)
	}
	if lines == 0 {
		t.Fatal("the runtime says nothing of our packages")
	}
	if total > maxInit {
		t.Errorf("our packages allocate %d bytes before main runs, the limit is %d", total, maxInit)
	}
}

// TestIntegrationEntry checks that the metadata request of docker, which precedes each command, is
// answered before the packages of docker's command line are initialized. A keeper starts before
// that too.
func TestIntegrationEntry(t *testing.T) {
	keeper := exec.Command(pluginPath(t))
	keeper.Args = []string{proctree.KeeperName} // without a session to keep, it ends with 125
	trace, err := initTraceOf(keeper)
	if err == nil || keeper.ProcessState.ExitCode() != 125 || !strings.Contains(trace, "init "+module+"exec/proctree @") {
		t.Errorf("a keeper: %v, and initializes\n%s", err, trace)
	}
	for name, trace := range map[string]string{"docker's question is answered": initTrace(t, "docker-cli-plugin-metadata"), "a keeper begins": trace} {
		for _, late := range []string{"net", "regexp", "github.com/docker/docker/client", "google.golang.org/grpc"} {
			if strings.Contains(trace, "init "+late+" @") {
				t.Errorf("%s is initialized before %s", late, name)
			}
		}
	}
}

// initTrace returns the runtime's report of the packages that the plugin initializes (GODEBUG in
// package runtime).
func initTrace(t *testing.T, args ...string) string {
	t.Helper()
	trace, err := initTraceOf(exec.Command(pluginPath(t), args...))
	check(t, err)
	return trace
}

func initTraceOf(cmd *exec.Cmd) (string, error) {
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	err := cmd.Run()
	return trace.String(), err
}
