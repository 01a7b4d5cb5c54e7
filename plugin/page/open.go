// SPDX-License-Identifier: Apache-2.0

package page

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// Desktop reports whether this process could open a browser.
func Desktop() bool {
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

// Open has the person's browser open link. It does not wait for the browser.
func Open(link string) error {
	argv := append(opener(), link)
	cmd := exec.Command(argv[0], argv[1:]...)
	err := cmd.Start()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("open a browser: no %s", argv[0])
	}
	if err != nil {
		return fmt.Errorf("open a browser: %w", err)
	}
	// ends with the opener, which leaves the browser behind; nobody waits for it.
	go cmd.Wait()
	return nil
}
