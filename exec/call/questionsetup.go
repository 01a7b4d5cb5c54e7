// SPDX-License-Identifier: Apache-2.0

package call

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// instanceVars are variables that name a terminal, a login or a directory. They differ between terminals of one person,
// and do not change what a command does.
var instanceVars = strings.Fields(`PWD OLDPWD SHLVL _ TERM COLUMNS LINES COLORTERM TERM_PROGRAM TERM_PROGRAM_VERSION
	TERM_SESSION_ID WINDOWID WINDOWPATH GPG_TTY SSH_TTY SSH_CLIENT SSH_CONNECTION XDG_SESSION_ID TMUX TMUX_PANE STY WINDOW
	VTE_VERSION GNOME_TERMINAL_SCREEN GNOME_TERMINAL_SERVICE KONSOLE_DBUS_SESSION KONSOLE_DBUS_WINDOW ITERM_SESSION_ID
	KITTY_WINDOW_ID KITTY_PID ALACRITTY_WINDOW_ID WEZTERM_PANE WT_SESSION`)

// setup returns Question.Setup for dc. It is empty for a text of a shell, which depends on earlier texts, and for a
// push, whose objects differ between repositories.
func (dc *decidedCall) setup(req *request) string {
	if req.shell != nil || req.git != nil || req.Args[0] == policy.GitPush {
		return ""
	}
	v := dc.v
	v.Args, v.Steps, v.Command.Position = nil, 0, "" // the question shows the arguments
	var env []string
	for _, kv := range dc.env {
		name, _, _ := strings.Cut(kv, "=")
		private := v.Place.Sandboxed && (name == "HOME" || name == "TMPDIR") // directories of the project's sandboxes
		if !private && !slices.Contains(instanceVars, name) {
			env = append(env, strconv.QuoteToASCII(kv)) // JSON would change bytes that are no text
		}
	}
	slices.Sort(env)
	b, err := json.Marshal(struct {
		Verdict  policy.Verdict
		Env      []string
		NewPrivs bool
	}{v, env, dc.config.NewPrivs})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
