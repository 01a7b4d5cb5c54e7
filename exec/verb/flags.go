// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/call"
)

// newFlags returns a set of flags that end where the first other word stands.
func newFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet(call.Name, pflag.ContinueOnError)
	flags.SetInterspersed(false)
	flags.Usage = func() {}
	return flags
}
