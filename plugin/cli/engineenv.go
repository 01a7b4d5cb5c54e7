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

// proxyVariable is the variable with the address of the API proxy that a process uses. The same name with a suffix has
// the original value of one of engineVariables.
const proxyVariable = "HOSTEXEC_WITH"

// BehindAPIProxy returns env for a process whose engine is the API proxy at host. globalArgs are docker's flags for the
// engine of the API proxy.
func BehindAPIProxy(env, globalArgs []string, host string) []string {
	env = osenv.Without(env, proxyVariable)
	real := slices.Clone(env)
	if opts, set, err := ClientFlags(globalArgs); err == nil && set.Changed("context") {
		real = osenv.Set(slices.DeleteFunc(real, isEngineVariable), "DOCKER_CONTEXT="+opts.Context)
	} else if err == nil && len(opts.Hosts) > 0 {
		real = osenv.Set(real, "DOCKER_HOST="+opts.Hosts[0])
	}
	env = append(slices.DeleteFunc(slices.Clone(env), isEngineVariable), "DOCKER_HOST="+host, proxyVariable+"="+host)
	for _, kv := range real {
		if isEngineVariable(kv) {
			env = append(env, proxyVariable+"_"+kv)
		}
	}
	return env
}

func isEngineVariable(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	return slices.Contains(engineVariables, name)
}

// LeaveAPIProxy undoes BehindAPIProxy for this process: a session must not have an engine that ends with the API
// proxy.
func LeaveAPIProxy() error {
	proxy := os.Getenv(proxyVariable)
	if proxy == "" || os.Getenv("DOCKER_HOST") != proxy {
		return nil
	}
	for _, name := range engineVariables {
		value, ok := os.LookupEnv(proxyVariable + "_" + name)
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
