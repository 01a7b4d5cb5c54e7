// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// fileMark is a text in the first lines of each file that install writes.
const fileMark = "Written by docker hostexec service install"

// systemd is the service manager of most Linux systems (systemd.service(5), systemd.unit(5)).
var systemd = serviceManager{
	name: "systemd", text: unit, mark: "# " + fileMark,
	link: filepath.Join("default.target.wants", unitName),
	file: func() (string, error) {
		dir := os.Getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(dir) { // the XDG base directory specification requires an absolute path
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("find your home: %w", err)
			}
			dir = filepath.Join(home, ".config")
		}
		return filepath.Join(dir, "systemd", "user", unitName), nil
	},
	startCommand: func(string) string {
		return "systemctl --user daemon-reload && systemctl --user restart " + unitName + "; without a login, from boot on: loginctl enable-linger"
	},
	statusCommand: []string{"systemctl", "--user", "--quiet", "is-active", unitName},
	stopCommand:   func(string) string { return "systemctl --user stop " + unitName + "; systemctl --user daemon-reload" },
}

const unitName = "docker-hostexec.service"

// unit returns the text of the unit. The watchers that the unit starts must outlive it. Therefore only its
// main process is killed (KillMode=process), and a command that runs out of memory does not end it
// (OOMPolicy).
func unit(s service) (string, error) {
	if strings.ContainsAny(s.argv[0], "$\"'\\") || !utf8.ValidString(s.argv[0]) || strings.ContainsFunc(s.argv[0], unicode.IsControl) {
		return "", fmt.Errorf("systemd cannot run a program with the name %s: move the plugin to another directory", names.Quoted(s.argv[0]))
	}
	words := make([]string, len(s.argv))
	for i, arg := range s.argv {
		words[i] = unitWord(arg, i > 0)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# %s; another one replaces it.
[Unit]
Description=docker hostexec: resume sessions whose watcher has gone
Documentation=https://github.com/docker-hostexec/hostexec

[Service]
Type=exec
ExecStart=%s
`, fileMark, strings.Join(words, " "))
	for _, kv := range s.env {
		fmt.Fprintf(&b, "Environment=%s\n", unitWord(kv, false))
	}
	b.WriteString(`Restart=on-failure
RestartSec=5
KillMode=process
OOMPolicy=continue

[Install]
WantedBy=default.target
`)
	return b.String(), nil
}

// unitWord quotes a word of a unit's line. A percent sign begins a specifier in any line, and a dollar sign a
// variable in arguments.
func unitWord(word string, argument bool) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(word) {
		switch {
		case c == '"', c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '%', c == '$' && argument:
			b.WriteByte(c)
			b.WriteByte(c)
		case c < ' ' || c == 0x7f || c >= 0x80 && !utf8.ValidString(word):
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
