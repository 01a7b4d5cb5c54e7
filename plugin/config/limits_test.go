// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"github.com/docker-hostexec/hostexec/exec/limit"
)

// TestLimitsOver checks that a project's limits replace the global ones. Limits that the project does not
// set stay.
func TestLimitsOver(t *testing.T) {
	global := Limits{Limits: limit.Limits{limit.Calls: 5, limit.Spool: 7}, Refusals: 1}
	got := Limits{Limits: limit.Limits{limit.Calls: 6}}.over(global)
	if want := (Limits{Limits: limit.Limits{limit.Calls: 6, limit.Spool: 7}, Refusals: 1}); got != want {
		t.Errorf("over = %+v, want %+v", got, want)
	}
}

func TestRotation(t *testing.T) {
	for text, want := range map[string]int64{"off": Never, "0": Never, "10MiB": 10 << 20} {
		if got, err := parseRotate(text); err != nil || got != want {
			t.Errorf("rotate: %s is %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]int{"all": Never, "0": Never, "3": 3} {
		if got, err := parseKeep(text); err != nil || got != want {
			t.Errorf("keep: %s is %d, %v, want %d", text, got, err, want)
		}
	}
	if _, err := parseRotate("never"); err == nil {
		t.Error("rotate: never is understood")
	}
}
