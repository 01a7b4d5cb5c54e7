// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// These texts contain no text of a container: count is replaced by a number.
const (
	title   = "docker hostexec"
	count   = "{count}"
	message = title + ": " + count
)

// desktops lists the program that shows a notification on each system.
var desktops = map[string][]string{
	"linux":  {"notify-send", "--app-name=" + title, "--", title, message},
	"darwin": {"osascript", "-e", `display notification "` + message + `" with title "` + title + `"`},
	"windows": {"powershell.exe", "-NoProfile", "-NonInteractive", "-Command", strings.Join([]string{
		`$ErrorActionPreference = 'Stop'`,
		`$m = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]`,
		`$x = $m::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText01)`,
		`$x.GetElementsByTagName('text').Item(0).AppendChild($x.CreateTextNode('` + message + `')) | Out-Null`,
		`$t = [Windows.UI.Notifications.ToastNotification, Windows.UI.Notifications, ContentType = WindowsRuntime]::new($x)`,
		`$m::CreateToastNotifier('` + title + `').Show($t)`,
	}, "; ")},
}

// Desktop returns the argv that shows a notification on the desktop of goos. It returns nil if PATH has no
// such program or, on Linux, there is no session bus or display.
func Desktop(goos string, getenv func(string) string) []string {
	argv := slices.Clone(desktops[goos])
	if len(argv) == 0 {
		return nil
	}
	display := getenv("DISPLAY") + getenv("WAYLAND_DISPLAY") + getenv("DBUS_SESSION_BUS_ADDRESS")
	if goos == "linux" && display == "" {
		return nil
	}
	path, ok := osenv.LookPath(argv[0], getenv("PATH"))
	if !ok {
		return nil
	}
	argv[0] = path
	return argv
}

// fillCount replaces count in argv.
func fillCount(argv []string, waiting int) []string {
	words := fmt.Sprintf("%d requests wait for approval", waiting)
	if waiting == 1 {
		words = "1 request waits for approval"
	}
	argv = slices.Clone(argv)
	for i := 1; i < len(argv); i++ {
		argv[i] = strings.ReplaceAll(argv[i], count, words)
	}
	return argv
}
