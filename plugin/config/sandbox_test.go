// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

// TestSandboxPaths checks which paths a sandbox section may name.
func TestSandboxPaths(t *testing.T) {
	for list, want := range map[string]string{ // want is a part of the error; empty: none
		"write: [/srv/out, ~/out]": "",
		"write: [out]":             "neither an absolute path nor one below ~/",
		"write: [/proc]":           "/proc belongs to the kernel",
		"write: [/proc/sys/..]":    "/proc belongs to the kernel",
		"write: [/sys/kernel]":     "/sys/kernel belongs to the kernel",
		"write: [/srv/../dev]":     "/dev belongs to the kernel",
		"write: [/dev/shm]":        "",
		"write: [/system]":         "",
		"read: [/proc]":            "",
		"cache: [/srv]":            "not below the home",
	} {
		src := home(t, map[string]string{"state/config.yaml": "version: 1\ncommands:\n  make: {where: sandbox, sandbox: {" + list + "}}\n"})
		err := Load(src).Err
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
}
