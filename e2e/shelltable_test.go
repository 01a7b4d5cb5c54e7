// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// shellTable says which tests hold what shells with state promise, F002-001 to F002-073: the
// first is always one on the real engine. Those on both forEachShellBackend see to the host and to a
// container.
var shellTable = map[string]string{
	"001 state survives":                             "e2e.TestIntegrationShells exec/shell.TestCommandsInOneShell",
	"002 stdout and stderr apart, byte for byte":     "e2e.TestIntegrationShells exec/shell.TestCommandsInOneShell",
	"003 silent commands do not hang":                "e2e.TestIntegrationShells exec/shell.TestCommandsInOneShell",
	"004 completion by exit files":                   "e2e.TestIntegrationShellFiles",
	"005 all descendants end":                        "e2e.TestIntegrationShellKill exec/shell.TestKill",
	"006 foreground: state persists":                 "e2e.TestIntegrationShells",
	"007 foreground: it may stream":                  "e2e.TestIntegrationShellStream exec/shell.TestStream",
	"008 foreground: a timeout keeps the shell":      "e2e.TestIntegrationShellTimeout exec/shell.TestTimeout",
	"009 background: state does not persist":         "e2e.TestIntegrationShells exec/shell.TestStart",
	"010 background: it streams":                     "e2e.TestIntegrationShellStream exec/shell.TestStream",
	"011 background: it can be killed":               "e2e.TestIntegrationShellKill exec/shell.TestKill",
	"012 output goes through files":                  "e2e.TestIntegrationShellFiles exec/shell.TestOutput",
	"013 output first, then the exit, in one step":   "e2e.TestIntegrationShellFiles e2e.TestIntegrationShells",
	"014 bash waits for all writes":                  "e2e.TestIntegrationShells exec/shell.TestOutput",
	"015 no race with large base64":                  "e2e.TestIntegrationShells exec/shell.TestOutput",
	"016 in the shell itself, whatever is left open": "e2e.TestIntegrationShells exec/shell.TestCommandsInOneShell",
	"017 cd and export affect later commands":        "e2e.TestIntegrationShells exec/shell.TestCommandsInOneShell",
	"018 the background streams without labelers":    "e2e.TestIntegrationShellStream",
	"019 output is read while it is written":         "e2e.TestIntegrationShellStream e2e.TestIntegrationJobFollowed",
	"020 a copy does not hold the shell up":          "e2e.TestIntegrationShellKill exec/shell.TestKill",
	"021 the pid is told":                            "e2e.TestIntegrationShellKill e2e.TestIntegrationShellJSON",
	"022 no file is left":                            "e2e.TestIntegrationShellEnds e2e.TestIntegrationShellsAtOnce",
	"023 no FIFO in the way of the foreground":       "e2e.TestIntegrationShells exec/shell.TestCommandsInOneShell",
	"024 stdout's prefix in the combined log":        "e2e.TestIntegrationJob exec/job.TestCombined",
	"025 stderr's prefix":                            "e2e.TestIntegrationJob exec/job.TestCombined",
	"026 the combined log is parsed back":            "e2e.TestIntegrationJob exec/job.TestCombined",
	"027 output that looks like a prefix survives":   "e2e.TestIntegrationJob exec/job.TestCombined",
	"028 the exit is written aside":                  "e2e.TestIntegrationShellFiles",
	"029 and renamed into place":                     "e2e.TestIntegrationShellFiles",
	"030 it is found by notification and by looking": "e2e.TestIntegrationShellPolled exec/shell.TestWithoutInotify",
	"031 looking is always on":                       "e2e.TestIntegrationShellPolled exec/shell.TestWithoutInotify",
	"032 children in the background end":             "e2e.TestIntegrationShellKill exec/shell.TestKill",
	"033 all of /proc is looked at":                  "e2e.TestIntegrationShellKill exec/shell.TestKill",
	"034 children before parents":                    "e2e.TestIntegrationShellKill exec/proctree.TestEnd",
	"035 orphans are found":                          "e2e.TestIntegrationShellKill exec/shell.TestKill",
	"036 not by groups alone":                        "e2e.TestIntegrationShellKill exec/shell.TestKill",
	"037 whatever their group":                       "e2e.TestIntegrationShellKill exec/shell.TestKill",
	"038 kill says whether it did":                   "e2e.TestIntegrationShellKill",
	"039 death is told at once":                      "e2e.TestIntegrationShellDies exec/shell.TestDeath",
	"040 death by exit":                              "e2e.TestIntegrationShells exec/shell.TestDeath",
	"041 death by somebody else":                     "e2e.TestIntegrationShellDies exec/shell.TestDeath",
	"042 waiting: the directory is watched":          "e2e.TestIntegrationShellFiles",
	"043 waiting: a look each 50 ms":                 "e2e.TestIntegrationShellPolled exec/shell.TestWithoutInotify",
	"044 waiting: a timeout":                         "e2e.TestIntegrationShellTimeout",
	"045 waiting: a look first":                      "e2e.TestIntegrationShellsAtOnce exec/shell.TestLeak",
	"046 the pid comes through a FIFO":               "e2e.TestIntegrationShellStream exec/shell.TestStart",
	"047 or by a file":                               "e2e.TestIntegrationShellPolled exec/shell.TestWithoutInotify",
	"048 which is never half written":                "e2e.TestIntegrationShellPolled",
	"049 an invalid directory: its text, and 1":      "e2e.TestIntegrationShells exec/shell.TestBadScope",
	"050 which leaves the shell where it is":         "e2e.TestIntegrationShells exec/shell.TestBadScope",
	"051 a timeout: its text, and 124":               "e2e.TestIntegrationShellTimeout e2e.TestIntegrationShells",
	"052 death: its text, and 125":                   "e2e.TestIntegrationShells exec/shell.TestDeath",
	"053 TERM, then KILL":                            "e2e.TestIntegrationShellTimeout exec/shell.TestTimeout",
	"054 foreground and background are two words":    "e2e.TestIntegrationShells",
	"055 no tee": "e2e.TestIntegrationShells",
	"056 bash --norc, and a clear error without": "e2e.TestIntegrationShells e2e.TestIntegrationShellContainers",
	"057 no process substitution":                "e2e.TestIntegrationShells",
	"058 a shell's environment":                  "e2e.TestIntegrationShells exec/shell.TestStartConfig",
	"059 a missing directory: HOME":              "e2e.TestIntegrationShells exec/shell.TestStartConfig",
	"060 command, duration, timestamp":           "e2e.TestIntegrationShellJSON",
	"061 127 and not found":                      "e2e.TestIntegrationShells exec/shell.TestCommandsInOneShell",
	"062 a command's own environment, put back":  "e2e.TestIntegrationShells exec/shell.TestEnvironmentOfOneCommand",
	"063 names of variables are looked at":       "e2e.TestIntegrationShells exec/shell.TestBadScope",
	"064 values are quoted":                      "e2e.TestIntegrationShells exec/shell.TestEnvironmentOfOneCommand",
	"065 a command's own directory, put back":    "e2e.TestIntegrationShells exec/shell.TestEnvironmentOfOneCommand",
	"066 output of any length":                   "e2e.TestIntegrationShells exec/shell.TestOutput",
	"067 heredocs":                               "e2e.TestIntegrationShells exec/shell.TestCommandsInOneShell",
	"068 stdin is /dev/null":                     "e2e.TestIntegrationShells exec/shell.TestCommandsInOneShell",
	"069 the directory may go":                   "e2e.TestIntegrationShells exec/shell.TestStartConfig",
	"070 rm twice, and not ready":                "e2e.TestIntegrationShells exec/shell.TestRemove",
	"071 start, output, complete":                "e2e.TestIntegrationShellJSON",
	"072 a timeout says how long":                "e2e.TestIntegrationShellTimeout e2e.TestIntegrationShells",
	"073 what is fast does not notice":           "e2e.TestIntegrationShells exec/shell.TestCommandIsFast",
}

// TestShellTable holds the table to the tests that there are.
func TestShellTable(t *testing.T) {
	tests, rows := testsByPackage(t), map[string]bool{}
	for row, named := range shellTable {
		rows[row[:3]] = true
		for i, name := range strings.Fields(named) {
			if !tests[name] {
				t.Errorf("F002-%s: there is no %s", row, name)
			}
			if i == 0 && !strings.HasPrefix(name, "e2e.TestIntegration") {
				t.Errorf("F002-%s: %s does not run on an engine", row, name)
			}
		}
	}
	for n := 1; n <= 73; n++ {
		if !rows[fmt.Sprintf("%03d", n)] {
			t.Errorf("F002-%03d is held by no test", n)
		}
	}
}
