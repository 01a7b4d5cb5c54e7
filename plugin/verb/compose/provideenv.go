// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// Compose starts a provider with the project's environment: its own, and what the project's .env
// sets that its own does not. That file is mostly in a container's workspace, and a variable can be a program
// (LD_PRELOAD, GIT_SSH_COMMAND) or another state directory. So a provider begins anew with what
// compose itself was given, before it looks at anything.

// providerName is the argv[0] of a provider that has begun anew. No file of a project's can say
// so, as it could by a variable.
const providerName = "hostexec-provider"

// providerVerbs are what compose has a provider do.
var providerVerbs = []string{"up", "down", "stop"}

// FromCompose reports whether args are those with which compose starts a provider, and nobody
// else anything: docker's plugins get their own name first.
func FromCompose(args []string) bool {
	if len(args) < 3 || args[0] == providerName || args[1] != "compose" {
		return false
	}
	named := strings.HasPrefix(args[2], "--project-name=")
	return args[2] == "metadata" || named && len(args) > 3 && slices.Contains(providerVerbs, args[3])
}

// ownEnviron is what a process was started with, as proc(5) has it, without what docker tells its
// plugins: compose is one, and its provider is none.
func ownEnviron(text string) (env []string, err error) {
	for kv := range strings.SplitSeq(text, "\x00") {
		if strings.Contains(kv, "=") && !strings.HasPrefix(kv, "DOCKER_CLI_PLUGIN_") {
			env = append(env, kv)
		}
	}
	if len(env) == 0 {
		return nil, errors.New("it is not to be seen")
	}
	return env, nil
}

// RefuseProvider tells compose why there is no provider, and returns the exit code.
func RefuseProvider(out, errOut io.Writer, args []string, err error) int {
	err = fmt.Errorf("the environment that docker compose was started with, without the project's .env: %w", err)
	if args[2] != "metadata" {
		teller{out}.say("error", "hostexec: "+err.Error())
	}
	return cli.Report(errOut, &cli.Failure{Code: cli.CodeVerb, Err: err})
}

type teller struct{ w io.Writer }

func (t teller) say(kind, text string) {
	_ = json.NewEncoder(names.ASCIIWriter(t.w)).Encode(struct { // compose is gone if it fails
		Type    string `json:"type"`
		Message string `json:"message"`
	}{kind, text})
}
