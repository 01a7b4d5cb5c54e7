// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestIntegrationScripts runs what a user types: testdata/*.txtar. Each has its own home and
// HOSTEXEC_HOME, and these variables:
//
//	NAME               a name for a container that nobody else uses
//	LABEL              for --label, so that the container is found at the end
//	BUSYBOX FULL EMPTY the images
//	PROBE              the host's probe
//
// One verb is ours: `ready NAME` waits until the session of a container serves calls, and
// `! ready NAME` until status does not list it any more.
func TestIntegrationScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txtar")
	check(t, err)
	for _, script := range scripts {
		h := newHost(t, false)
		// After the script, which is run in parallel to others when this test has returned.
		t.Cleanup(func() { h.quiet(t, leaves+grace) })
		testscript.Run(t, testscript.Params{
			Files:               []string{script},
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			Setup:               func(env *testscript.Env) error { return setUp(t, h, env) },
			Cmds:                map[string]func(*testscript.TestScript, bool, []string){"ready": ready},
		})
	}
}

func setUp(t *testing.T, h *Host, env *testscript.Env) error {
	for _, kv := range h.environ() {
		name, value, _ := strings.Cut(kv, "=")
		env.Setenv(name, value)
	}
	name := unique(filepath.Base(h.Home))
	for k, v := range map[string]string{
		"NAME": name, "LABEL": runLabel, "PROBE": probePath(t), "BUSYBOX": image(t, "busybox"), "FULL": image(t, "full"), "EMPTY": image(t, "empty"),
	} {
		env.Setenv(k, v)
	}
	env.Defer(func() {
		// Its own, NAME-2 among them: the name of another script may begin with this one.
		ids, _ := exec.Command("docker", "ps", "-aq", "--filter", "name=^/?"+name+"(-[0-9]+)?$").Output()
		for _, id := range strings.Fields(string(ids)) {
			exec.Command("docker", "rm", "-f", "-v", id).Run()
		}
	})
	return nil
}

// ready waits until the session of a container serves calls, or is not listed any more if neg.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] ready NAME")
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		cmd := exec.Command("docker", "hostexec", "status", "--format", "{{.Container}} {{.State}}")
		for _, name := range []string{"PATH", "HOME", "DOCKER_CONFIG", "HOSTEXEC_HOME", "DOCKER_HOST", "DOCKER_CONTEXT"} {
			cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name)) // an empty one is none
		}
		out, err := cmd.Output()
		line := lineWith(string(out), args[0]+" ")
		if err == nil && (neg && line == "" || !neg && line == args[0]+" running") {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("ready %s is %t: %v: %s", args[0], neg, err, out)
		}
	}
}
