// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"

	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
)

// programs checks which parts of commands' environments containers can write.
func (d *doctor) programs() finding {
	workspace, err := os.Getwd()
	if err == nil {
		workspace, err = cli.Directory(workspace)
	}
	var found []policy.Problem
	if err == nil {
		found, err = launch.WritableCode(d.store, config.Source{Store: d.store.Home, Project: workspace, Workspace: workspace})
	}
	switch {
	case err != nil:
		return finding{Status: isWarn, Found: err.Error(), Means: "it is not known which programs and settings of commands a container can write", Fix: "docker hostexec status -a"}
	case len(found) == 0:
		return finding{Status: isOK, Found: "nothing in PATH or in variables that name code is below " + workspace + " or a mount of a session", Means: "programs that commands call are this host's"}
	}
	return finding{Status: isWarn, Found: firstLines(found),
		Means: "a container with that directory can choose these programs and settings: commands get them only where that cannot be avoided",
		Fix:   "start sessions from a shell without the venv or direnv, or install the programs elsewhere; docker hostexec policy check shows all"}
}
