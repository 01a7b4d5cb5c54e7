// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"slices"
	"testing"
)

// TestOtherArguments checks that arguments which a person can type are left to the rest of the program.
func TestOtherArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"docker-hostexec"}, {"docker-hostexec", "run", "hostexec-keeper"}, {"/bin/hostexec-keeper"}} {
		if code, ours := run(args); ours {
			t.Errorf("run(%q) ended with %d, want it left to main", args, code)
		}
	}
}

func TestWatcherCommand(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		argv  []string
		files int
	}{
		{"a container's", []string{"/bin/p", "/s/1", "1", "5s"}, []string{"/bin/p", "hostexec", "watcher", "/s/1"}, 1},
		{"an agent's", []string{"/bin/p", "/s/1", "4", "5s", "--host", "h"}, []string{"/bin/p", "--host", "h", "hostexec", "watcher", "/s/1"}, 4},
		{"no count", []string{"/bin/p", "/s/1", "1"}, nil, 0},
		{"no grace", []string{"/bin/p", "/s/1", "1", "--host"}, nil, 0},
		{"no number", []string{"/bin/p", "/s/1", "--host", "5s"}, nil, 0},
		{"too many", []string{"/bin/p", "/s/1", "5", "5s"}, nil, 0},
		{"no link", []string{"/bin/p", "/s/1", "0", "5s"}, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if argv, files, _ := watcherCommand(tt.args); !slices.Equal(argv, tt.argv) || files != tt.files {
				t.Errorf("watcherCommand(%q) = %q, %d, want %q, %d", tt.args, argv, files, tt.argv, tt.files)
			}
		})
	}
}
