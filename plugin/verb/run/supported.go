// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"

	"github.com/docker/cli/cli-plugins/plugin"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types/versions"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// engine describes an engine, on which the support of flags depends. Both methods connect to it, so they are called
// only if needed.
type engine interface {
	CurrentVersion() string
	ServerInfo() command.ServerInfo
}

// supported refuses flags that the engine does not support, with docker's message. docker's main does this
// for its own commands, but not for those of plugins.
func supported(flags *pflag.FlagSet, e engine) error {
	var errs []error
	flags.Visit(func(f *pflag.Flag) {
		if v := annotation(f, "version"); v != "" && versions.LessThan(e.CurrentVersion(), v) {
			errs = append(errs, fmt.Errorf(`"--%s" requires API version %s, but the Docker daemon API version is %s`, f.Name, v, e.CurrentVersion()))
			return
		}
		if os := annotation(f, "ostype"); os != "" && otherOS(e, os) {
			errs = append(errs, fmt.Errorf(`"--%s" is only supported on a Docker daemon running on %s, but the Docker daemon is running on %s`, f.Name, os, e.ServerInfo().OSType))
		}
	})
	return errors.Join(errs...)
}

// showSupported hides flags that the engine does not support from cmd's help, as docker does.
func showSupported(cmd *cobra.Command, e engine) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		// Help is shown before PersistentPreRunE, which connects. Without an engine all flags are shown.
		if plugin.PersistentPreRunE != nil && plugin.PersistentPreRunE(cmd, args) == nil {
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				old := annotation(f, "version")
				os := annotation(f, "ostype")
				if old != "" && versions.LessThan(e.CurrentVersion(), old) || os != "" && otherOS(e, os) {
					f.Hidden = true
				}
			})
		}
		cmd.Parent().HelpFunc()(cmd, args)
	})
}

func otherOS(e engine, os string) bool {
	is := e.ServerInfo().OSType
	return is != "" && is != os
}

func annotation(f *pflag.Flag, name string) string {
	if v := f.Annotations[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}
