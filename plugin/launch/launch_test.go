// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// A watcher that cannot start removes the session's directory, and the engine may then miss it.
// The watcher's reason is reported, not the engine's.
func TestExplainWatcher(t *testing.T) {
	l := &Launch{Plan: &Plan{}, Dir: filepath.Join(t.TempDir(), "gone"), Ready: make(chan struct{}), Err: errors.New("others may write audit.log")}
	close(l.Ready)
	err := l.explainRefusal(fmt.Errorf("invalid mount config: bind source path does not exist: %s", l.Dir))
	if err == nil || l.Failed != l.Err {
		t.Errorf("reported is %v, want %v", l.Failed, l.Err)
	}
}
