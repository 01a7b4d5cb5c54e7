// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// CanOpenBrowser reports whether this process could open a browser.
func CanOpenBrowser() bool {
	if runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return false
	}
	_, err := exec.LookPath(opener()[0])
	return err == nil
}

func opener() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}

// Open opens link in the user's browser. It does not wait for the browser.
func Open(s *state.Store, link string) error {
	if link == "" {
		return errors.New("open a browser: no link")
	}
	argv := append(opener(), link)
	cmd, err := hostCommand(context.Background(), s, argv[0], argv[1:]...)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("open a browser: %w", err)
	}
	// Ends with the opener, which leaves the browser running. No goroutine waits for it.
	go cmd.Wait()
	return nil
}
