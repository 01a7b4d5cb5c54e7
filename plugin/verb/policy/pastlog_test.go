// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/audit"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// TestPastShells checks in which containers the log of a removed session says that --proxy-shell permits shells.
func TestPastShells(t *testing.T) {
	d := newDiary(t, "version: 1\n")
	const rule = "--proxy shell=ask"
	d.write(audit.Record{Kind: audit.Request, Rule: rule}, "shell --in web id")
	d.write(audit.Record{Kind: audit.Deny, Rule: rule, By: "me"}, "shell --in denied id")
	d.write(audit.Record{Kind: audit.Deny, Rule: rule}, "shell --in other id")
	store, err := state.Open()
	if err != nil {
		t.Fatal(err)
	}
	log := newPastLog(store, config.Source{})
	if err := log.each(time.Time{}, log.note); err != nil {
		t.Fatal(err)
	}
	for container, want := range map[string]policy.Action{"web": policy.Ask, "denied": policy.Ask, "other": policy.Deny} {
		for _, p := range log.sessions {
			if v := log.policy(p).Decide(policy.Request{Args: []string{"shell", "--in", container, "ls"}}); v.Action != want {
				t.Errorf("a shell in %s: %v (%s), want %v", container, v.Action, v.Reason, want)
			}
		}
	}
	if len(log.sessions) != 1 {
		t.Errorf("%d sessions, want 1", len(log.sessions))
	}
}
