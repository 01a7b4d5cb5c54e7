// SPDX-License-Identifier: Apache-2.0

package carrier

import "github.com/docker-hostexec/hostexec/shim/wire"

// Failed returns the end of a call that hostexec itself could not serve, with the reason.
func Failed(why string) wire.Exit {
	return wire.Exit{Outcome: wire.Failed, Code: wire.CodeFailed, Text: "hostexec: " + why + "\n"}
}
