// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/metadata"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// carrier reports how calls from the engine's containers reach this host. With an image, it tries a call
// first.
func (d *doctor) carrier(ctx context.Context, image string) finding {
	switch {
	case !watch.Supported:
		return finding{Status: isFail, Found: "sessions are not served on " + runtime.GOOS, Means: "run, attach and agent --proxy do not work here", Fix: "use docker hostexec on Linux"}
	case image == "":
		return carrierKnown(d.store.Engine(d.engine.endpoint), d.engine)
	case d.engine.err != nil:
		return needsEngine()
	}
	return d.testCarrier(ctx, image)
}

// testCarrier tries a call by a socket and, if that fails, by a relay.
func (d *doctor) testCarrier(ctx context.Context, image string) finding {
	err := proveCarrier(ctx, cli.GlobalArgs(d.cli), carrier.BySocket, image)
	if err == nil {
		return finding{Status: isOK, Found: "socket: a call of a container of " + image + " has arrived", Means: bySocket}
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	err = proveCarrier(ctx, cli.GlobalArgs(d.cli), carrier.ByRelay, image)
	if err == nil {
		return finding{Status: isOK, Found: "relay: a call of a container of " + image + " has arrived\nsocket: " + first, Means: byRelay}
	}
	return finding{Status: isFail, Found: err.Error(), Means: "a container of this image could not call a command of this host", Fix: policy.CommandLine([]string{"docker", "hostexec", "run", "--rm", "--proxy", "true", image, "hostexec", "true"})}
}

// The meanings of carriers.
const (
	bySocket = "calls run at the speed of a local process"
	byRelay  = "calls work over docker exec, but are slower"
)

// carrierKnown reports the carrier that earlier sessions have found for an engine.
func carrierKnown(known state.EngineFacts, e engineFacts) finding {
	f := finding{Status: isOK}
	command := "docker hostexec doctor --image IMAGE"
	switch {
	case known.Carrier == "":
		f.Found = "not known yet for this engine"
		f.Means = "the first session tests whether sockets work, and otherwise uses a relay; so does " + command
		return f
	case known.Carrier == carrier.BySocket:
		f.Found, f.Means = "socket: a connection of a container of this engine has arrived", bySocket
	case known.RemoteFiles:
		f.Found, f.Means = "relay: this engine does not see this host's directories", "calls go over docker exec, and a volume on the engine has the shims"
	default:
		f.Found, f.Means = "relay: a socket of this host does not work in containers of this engine", byRelay
	}
	switch {
	case e.err != nil:
		f.Status, f.Means = isWarn, "this is an earlier result: the engine does not answer now"
	case e.info.ID != known.ID:
		f.Status, f.Means, f.Fix = isWarn, "this result is of another engine at the same address: the next session tests again", command
	}
	return f
}

// callTimeout is the time limit for a container's call.
const callTimeout = time.Minute

// proveCarrier lets a container of image call a command with docker hostexec run.
func proveCarrier(ctx context.Context, globalArgs []string, carrier, image string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("the container did not end within %s", callTimeout))
	defer cancel()
	const name = "hostexec-doctor"
	args := append(globalArgs, cli.PluginName, "run", "--rm", "--pull", "never", "--network", "none", "--carrier", carrier, "--proxy", name+"="+exe,
		"--entrypoint", inject.Bin+"/"+name, image, "version", "--format", "{{.Version}}")
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = cli.WithoutPluginEnv(os.Environ())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // run removes its container
	cmd.WaitDelay = probeTimeout
	out, err := cmd.CombinedOutput()
	output := strings.TrimSpace(string(out))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("a call in a container of %s: %w\n%s", image, err, output)
	case !strings.HasSuffix(output, metadata.Version):
		return fmt.Errorf("a call in a container of %s answered %s, want %s", image, names.Quoted(output), metadata.Version)
	}
	return nil
}
