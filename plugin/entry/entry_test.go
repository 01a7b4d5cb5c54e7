// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/docker/cli/cli-plugins/metadata"
)

// TestOthers checks that arguments which a person can type are left to the rest of the program.
func TestOthers(t *testing.T) {
	for _, args := range [][]string{
		nil, {"docker-hostexec"}, {"docker-hostexec", "run", "hostexec-keeper"}, {"/bin/hostexec-keeper"},
		{"docker-hostexec", "docker-cli-plugin-metadata", "--help"}, {"docker-hostexec", "hostexec", "docker-cli-plugin-metadata"},
	} {
		if code, ours := run(args, io.Discard); ours {
			t.Errorf("run(%q) ended with %d, want it left to main", args, code)
		}
	}
}

func TestMetadata(t *testing.T) {
	var out bytes.Buffer
	code, ours := run([]string{"docker-hostexec", "docker-cli-plugin-metadata"}, &out)
	if code != 0 || !ours {
		t.Fatalf("run = %d, %v, want 0, true", code, ours)
	}
	var got metadata.Metadata
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != Metadata() {
		t.Errorf("docker reads %+v (%v), want %+v", got, err, Metadata())
	}
}

func TestWatcherOf(t *testing.T) {
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
			if argv, files, _ := watcherOf(tt.args); !slices.Equal(argv, tt.argv) || files != tt.files {
				t.Errorf("watcherOf(%q) = %q, %d, want %q, %d", tt.args, argv, files, tt.argv, tt.files)
			}
		})
	}
}
