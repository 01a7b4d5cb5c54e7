// SPDX-License-Identifier: Apache-2.0

package service

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"al.essio.dev/pkg/shellescape"

	"github.com/docker-hostexec/hostexec/exec/names"
)

// launchd is the service manager of macOS (launchd.plist(5)).
var launchd = serviceManager{
	name: "launchd", text: plist, mark: "<!-- " + fileMark,
	file: func() (string, error) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find your home: %w", err)
		}
		return filepath.Join(home, "Library", "LaunchAgents", agentLabel+".plist"), nil
	},
	startCommand:  func(file string) string { return "launchctl bootstrap gui/$(id -u) " + shellescape.Quote(file) },
	statusCommand: []string{"launchctl", "list", agentLabel},
	stopCommand:   func(string) string { return "launchctl bootout gui/$(id -u)/" + agentLabel },
}

const agentLabel = "io.hostexec.resume"

// plist returns the agent's property list. As with systemd, watchers outlive the agent's own process
// (AbandonProcessGroup), which is restarted after a failure.
func plist(s service) (string, error) {
	for _, text := range append(slices.Clone(s.argv), s.env...) {
		if strings.ContainsRune(escaped(text), utf8.RuneError) {
			return "", fmt.Errorf("launchd does not accept these bytes: %s", names.Quoted(text))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- %s; another one replaces it. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>%s</string>
	<key>ProgramArguments</key>
	<array>
`, fileMark, agentLabel)
	for _, arg := range s.argv {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", escaped(arg))
	}
	b.WriteString("\t</array>\n\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	for _, kv := range s.env {
		name, value, _ := strings.Cut(kv, "=")
		fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", escaped(name), escaped(value))
	}
	b.WriteString(`	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>AbandonProcessGroup</key>
	<true/>
	<key>ProcessType</key>
	<string>Background</string>
</dict>
</plist>
`)
	return b.String(), nil
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder returns no errors
	return b.String()
}
