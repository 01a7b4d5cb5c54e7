// SPDX-License-Identifier: Apache-2.0

//go:build unix

package notify

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// runs runs programs as the watcher does: without a shell or inherited descriptors.
func runs(ctx context.Context, argv, env []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	return cmd.Run()
}

// stub puts a program called name into PATH. It records its arguments and exits with code.
func stub(t *testing.T, name, code string) (calls func() string) {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "calls")
	script := "#!/bin/sh\n{ printf '<%s>' \"$@\"; echo \" $HOSTEXEC_PENDING $HOSTEXEC_SESSION\"; } >>" + out + "\nexit " + code + "\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "relative:"+dir+":/usr/bin:/bin")
	return func() string {
		b, err := os.ReadFile(out)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(b)
	}
}

// Attack 99.
func TestDesktop(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		calls := stub(t, desktops[goos][0], "0")
		for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"} {
			t.Setenv(name, "")
		}
		if argv := Desktop(goos, os.Getenv); (argv == nil) != (goos == "linux") {
			t.Errorf("%s without a display: %q", goos, argv)
		}
		t.Setenv("WAYLAND_DISPLAY", "wayland-0")
		n := Notifier{Desktop: Desktop(goos, os.Getenv), Run: runs}
		if !n.Reachable() || !filepath.IsAbs(n.Programs()[0]) {
			t.Fatalf("%s: %q", goos, n.Desktop)
		}
		for i, want := range []string{"docker hostexec: 1 request waits for approval", "docker hostexec: 2 requests wait for approval"} {
			if err := n.Notify(t.Context(), i+1); err != nil {
				t.Errorf("%s: %v", goos, err)
			}
			if got := calls(); strings.Count(got, "wait") != i+1 || !strings.Contains(got, want) || strings.Contains(got, count) {
				t.Errorf("%s was called with %s, want %s", goos, got, want)
			}
		}
	}
	if argv := Desktop("plan9", os.Getenv); argv != nil {
		t.Errorf("plan9: %q", argv)
	}
	t.Setenv("PATH", "/nonexistent:relative")
	if argv := Desktop("linux", os.Getenv); argv != nil {
		t.Errorf("without the program: %q", argv)
	}
}

// Attack 99.
func TestCommand(t *testing.T) {
	calls := stub(t, "tell-me", "0")
	path, ok := osenv.LookPath("tell-me", os.Getenv("PATH"))
	if !ok {
		t.Fatal("it is not found")
	}
	n := Notifier{Command: []string{path, "{count} $HOME", "a b"}, Session: "0123456789ab", Run: runs}
	if err := n.Notify(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if got, want := calls(), "<{count} $HOME><a b> 3 0123456789ab\n"; got != want {
		t.Errorf("it was called with %q, want %q", got, want)
	}
	for _, name := range []string{"nothing-such", "./tell-me", "sub/tell-me", ""} {
		if p, ok := osenv.LookPath(name, os.Getenv("PATH")); ok {
			t.Errorf("%q is found as %s", name, p)
		}
	}
}

// TestNotify checks that one working program is enough, and that failing and hanging programs do
// not count.
func TestNotify(t *testing.T) {
	stub(t, "fails", "3")
	fails, _ := osenv.LookPath("fails", os.Getenv("PATH"))
	for _, tt := range []struct {
		name string
		n    Notifier
		ok   bool
	}{
		{"nobody", Notifier{}, false},
		{"one fails", Notifier{Command: []string{fails}}, false},
		{"one is gone", Notifier{Command: []string{"/nonexistent/program"}}, false},
		{"one of two works", Notifier{Command: []string{fails}, Desktop: []string{"/bin/true"}}, true},
	} {
		tt.n.Run = runs
		if err := tt.n.Notify(t.Context(), 1); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	hangs := Notifier{Command: []string{"hangs"}, Run: func(ctx context.Context, _, _ []string) error {
		if _, ok := ctx.Deadline(); !ok {
			return errors.New("it may take for ever")
		}
		cancel()
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	if err := hangs.Notify(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a hanging program: %v", err)
	}
}
