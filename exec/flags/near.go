// SPDX-License-Identifier: Apache-2.0

// Package flags finds the flag that a person may have meant, for the command lines of the host and of the container.
package flags

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// Near returns the flag of set that a person may have meant, such as --proxy, or "". err is the error of set for the
// flag that was typed.
func Near(set *pflag.FlagSet, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var all []string
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f.Name)
		}
	})
	if near := names.Near(unknown.GetSpecifiedName(), all); near != "" {
		return "--" + near
	}
	return ""
}
