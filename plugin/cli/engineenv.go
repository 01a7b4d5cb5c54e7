// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// engineVariables choose the engine of docker and other clients.
var engineVariables = []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"}

// behind is the variable with the API proxy that a process is behind. With a suffix, it has the values of
// engineVariables in front of the proxy.
const behind = "HOSTEXEC_WITH"

// BehindProxy returns env for a process whose engine is the API proxy at host. globalArgs are docker's flags for the
// engine of the proxy.
func BehindProxy(env, globalArgs []string, host string) []string {
	env = osenv.Without(env, behind)
	real := slices.Clone(env)
	if opts, set, err := ClientFlags(globalArgs); err == nil && set.Changed("context") {
		real = osenv.Set(slices.DeleteFunc(real, isEngineVariable), "DOCKER_CONTEXT="+opts.Context)
	} else if err == nil && len(opts.Hosts) > 0 {
		real = osenv.Set(real, "DOCKER_HOST="+opts.Hosts[0])
	}
	env = append(slices.DeleteFunc(slices.Clone(env), isEngineVariable), "DOCKER_HOST="+host, behind+"="+host)
	for _, kv := range real {
		if isEngineVariable(kv) {
			env = append(env, behind+"_"+kv)
		}
	}
	return env
}

func isEngineVariable(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	return slices.Contains(engineVariables, name)
}

// LeaveProxy undoes BehindProxy for this process: a session must not have an engine that ends with the proxy.
func LeaveProxy() error {
	proxy := os.Getenv(behind)
	if proxy == "" || os.Getenv("DOCKER_HOST") != proxy {
		return nil
	}
	for _, name := range engineVariables {
		value, ok := os.LookupEnv(behind + "_" + name)
		err := os.Unsetenv(name)
		if ok {
			err = os.Setenv(name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
