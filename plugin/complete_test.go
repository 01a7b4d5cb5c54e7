// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/docker/cli/cli/flags"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
)

// freeText are the flags whose value nobody can know for the user.
var freeText = []string{
	"agent --label", "agent --mount", "approve --times", "approve --vary", "compose --http", "compose --label", "deny --message", "devcontainer --start", "replay --speed", "run --http", "stop --time", "with --context", "with --http", "with --label",
}

// argument is a word of a usage line that stands for something.
var argument = regexp.MustCompile(`\b[A-Z]{3,}\b`)

// TestEverythingIsCompleted walks all verbs: each flag with a value and each argument offers
// values, or files, unless its value is free text.
func TestEverythingIsCompleted(t *testing.T) {
	t.Setenv("HOSTEXEC_HOME", t.TempDir())
	unseen := slices.Clone(freeText)
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" || cmd.Name() == "run" && !slices.Contains(ownFlags, f.Name) {
				return
			}
			seen++
			name := strings.TrimPrefix(cmd.CommandPath(), "hostexec ") + " --" + f.Name
			complete, has := cmd.GetFlagCompletionFunc(f.Name)
			free := slices.Contains(freeText, name)
			if free {
				unseen = slices.DeleteFunc(unseen, func(s string) bool { return s == name })
			}
			switch {
			case !has:
				t.Errorf("%s has no completion", name)
			case free || looked[f.Name]:
			case !offers(cmd, complete):
				t.Errorf("%s offers nothing, and is not in the list of free texts", name)
			}
		})
		words := argument.FindAllString(strings.ReplaceAll(cmd.Use, "[OPTIONS]", ""), -1)
		if len(words) > 0 && cmd.ValidArgsFunction == nil && !cmd.Hidden {
			t.Errorf("%s: %v has no completion", cmd.CommandPath(), words)
		}
		if len(words) == 0 && cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() && !cmd.Hidden {
			t.Errorf("%s takes no arguments, and files are offered for some", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRootCommand(clitest.New(t, io.Discard)))
	if len(unseen) > 0 {
		t.Errorf("there are no %v", unseen)
	}
	if seen < 50 {
		t.Errorf("%d flags with values, want 50 at least", seen)
	}
}

// looked are the flags whose values an engine or a session has. e2e has some.
var looked = map[string]bool{"image": true, "in": true, "network": true, "job": true, "service": true, "session": true}

// offers reports whether a completion offers words, directories or files.
func offers(cmd *cobra.Command, complete cobra.CompletionFunc) bool {
	words, directive := complete(cmd, nil, "")
	return len(words) > 0 || directive&cobra.ShellCompDirectiveNoFileComp == 0 && directive&cobra.ShellCompDirectiveError == 0
}

// TestCompletionCreatesNoFiles completes all arguments and flags for a user without a state
// directory. Completion creates none, and does not change the mode of one that is not private.
func TestCompletionCreatesNoFiles(t *testing.T) {
	home := filepath.Join(t.TempDir(), "docker", "hostexec")
	t.Setenv("HOSTEXEC_HOME", home)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none"))
	dockerCLI := clitest.New(t, io.Discard)
	if err := dockerCLI.Initialize(flags.NewClientOptions()); err != nil { // or else asking an engine ends the process
		t.Fatal(err)
	}
	completed := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.SetContext(t.Context())
		if cmd.ValidArgsFunction != nil {
			cmd.ValidArgsFunction(cmd, nil, "")
			cmd.ValidArgsFunction(cmd, []string{"0123456789ab"}, "")
			completed++
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if complete, has := cmd.GetFlagCompletionFunc(f.Name); has {
				complete(cmd, nil, "")
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	complete := func() {
		t.Helper()
		completed = 0
		walk(newRootCommand(dockerCLI))
		if completed < 20 {
			t.Errorf("%d verbs complete their arguments, want 20 at least", completed)
		}
	}
	complete()
	if _, err := os.Lstat(filepath.Dir(home)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("completion has made %s: %v", filepath.Dir(home), err)
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	complete()
	entries, err := os.ReadDir(home)
	fi, serr := os.Stat(home)
	if err != nil || serr != nil || len(entries) > 0 || fi.Mode().Perm() != 0o755 {
		t.Errorf("%s after completion: %v, %v, %v, %v", home, fi.Mode(), entries, err, serr)
	}
}
