// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// A watcher that cannot start removes the session's directory, and the engine may then miss it.
// The watcher's reason is reported, not the engine's.
func TestExplainWatcher(t *testing.T) {
	l := &launch{plan: &plan{}, dir: filepath.Join(t.TempDir(), "gone"), ready: make(chan struct{}), err: errors.New("others may write audit.log")}
	close(l.ready)
	err := l.explain(fmt.Errorf("invalid mount config: bind source path does not exist: %s", l.dir))
	if err == nil || l.failed != l.err {
		t.Errorf("reported is %v, want %v", l.failed, l.err)
	}
}
