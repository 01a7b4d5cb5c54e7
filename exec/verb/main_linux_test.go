// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"os"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

func TestMain(m *testing.M) {
	if os.Args[0] == proctree.HelperName {
		os.Exit(proctree.Helper(os.Args))
	}
	proctree.DefaultSignals() // nohup, or a script's &, is not what is tested
	os.Exit(m.Run())
}
