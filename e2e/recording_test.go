// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recording is a terminal in two panes, each with a shell of a user's. What they show is recorded in asciicast v2.
type recording struct {
	*Host
	t      *testing.T
	panes  [2]string
	known  *strings.Replacer
	frames []string
}

const recordingColumns, recordingRows, recordingPane = 114, 33, 16

// recordingFlags are flags of the container that the recording does not show.
var recordingFlags = " --label " + runLabel + " --name " + unique("recording") + " -e PS1='agent$ '"

// hexID is the id of a session or of a request. transferRate is what git measures.
var (
	hexID        = regexp.MustCompile(`\b[0-9a-f]{12}([0-9a-f]{4})?\b`)
	transferRate = regexp.MustCompile(`[0-9.]+ [KM]iB/s`)
)

func newRecording(t *testing.T) *recording {
	t.Helper()
	h := newHost(t, false)
	r := &recording{Host: h, t: t, known: strings.NewReplacer(h.Work, "/home/you/app", image(t, "full"), "debian", recordingFlags, "",
		unique("recording"), "agent", "../origin.git", "git@github.com:you/app.git", "project  work", "project  app")}
	h.Env = append(h.Env, "PS1=$ ", "TMUX_TMPDIR="+h.Home)
	shell := []string{"-P", "-F", "#{pane_id}", "bash", "--norc"}
	// Wide, because names get shorter in the recording.
	r.panes[0] = r.tmux(append([]string{"new-session", "-d", "-x", "250", "-y", itoa(recordingRows)}, shell...)...)
	t.Cleanup(func() { h.feed(t, "", "tmux", "kill-server") })
	r.panes[1] = r.tmux(append([]string{"split-window", "-v", "-l", itoa(recordingPane)}, shell...)...)
	return r
}

func (r *recording) tmux(args ...string) string {
	r.t.Helper()
	res := r.feed(r.t, "", "tmux", append([]string{"-f", "/dev/null"}, args...)...)
	if res.Code != 0 {
		r.t.Fatalf("tmux %q: %v", args, res)
	}
	return strings.TrimRight(res.Out, "\n")
}

// shows waits until a pane shows text, and records both panes.
func (r *recording) shows(pane int, text string) {
	r.t.Helper()
	eventually(r.t, patience, "the terminal shows "+text, func() bool { return strings.Contains("\n"+r.tmux("capture-pane", "-p", "-t", r.panes[pane]), text) })
	var screen []string
	for _, id := range r.panes {
		screen = append(screen, strings.Split(r.tmux("capture-pane", "-p", "-t", id)+strings.Repeat("\n", recordingPane), "\n")[:recordingPane]...)
	}
	screen = slices.Insert(screen, recordingPane, "── another terminal "+strings.Repeat("─", recordingColumns))
	for i, line := range screen {
		line = hexID.ReplaceAllStringFunc(r.known.Replace(line), func(id string) string { return "5f0c1a2b3c4d6e7f"[:len(id)] })
		line = transferRate.ReplaceAllString(line, "100.00 KiB/s")
		screen[i] = string([]rune(line)[:min(len([]rune(line)), recordingColumns)])
	}
	r.frames = append(r.frames, "\x1b[?25l\x1b[2J\x1b[H"+strings.Join(screen, "\r\n"))
}

// types types a line, records it, and then waits for the text that answers it.
func (r *recording) types(pane int, line, answer string) {
	r.t.Helper()
	r.tmux("send-keys", "-t", r.panes[pane], "-l", line)
	r.shows(pane, "$ "+line)
	r.tmux("send-keys", "-t", r.panes[pane], "Enter")
	r.shows(pane, answer)
}

// write writes the recording: two seconds for each frame.
func (r *recording) write(file string) {
	r.t.Helper()
	text := fmt.Sprintf("{\"version\": 2, \"width\": %d, \"height\": %d}\n", recordingColumns, recordingRows)
	for i, frame := range r.frames {
		event, err := json.Marshal([]any{2 * i, "o", frame})
		check(r.t, err)
		text += string(event) + "\n"
	}
	check(r.t, os.WriteFile(file, []byte(text), 0o644))
}

// TestIntegrationRecording does what the recording of the README shows, and writes it to the file HOSTEXEC_RECORDING
// (make recording).
func TestIntegrationRecording(t *testing.T) {
	r := newRecording(t)
	defer r.write(cmp.Or(os.Getenv("HOSTEXEC_RECORDING"), filepath.Join(t.TempDir(), "recording.cast")))
	r.Write(t, r.Work, "Makefile", "test:\n\t@echo 'ok  app/server  0.41s'\n", 0o644)
	r.feed(t, "", "sh", "-ec", "git init -q --bare ../origin.git; git init -q -b main; git remote add origin ../origin.git; "+
		"export GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000'; git -c user.name=you -c user.email=you@localhost commit -q --allow-empty -m first")
	r.types(1, "docker hostexec pending --watch", "q leaves.")
	r.types(0, "docker hostexec run --rm -it"+recordingFlags+" --proxy make,where=sandbox --proxy git=ask --workspace "+image(t, "full"), "\nagent$")
	r.types(0, "make test", "\nok  app/server  0.41s\nagent$")
	r.types(0, "git push origin main", "\nhostexec: git: waiting for approval")
	r.shows(1, "q leaves:")
	r.tmux("send-keys", "-t", r.panes[1], "-l", "y")
	r.shows(0, "main -> main\nagent$")
}
