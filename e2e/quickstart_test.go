// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationQuickstart runs the commands of docs/quickstart.md, except for the image and the
// terminal. The commands are available, and a file that the agent creates belongs to the user.
func TestIntegrationQuickstart(t *testing.T) {
	h := dockerUsers(t)[0]
	_, text, _ := strings.Cut(string(readFile(t, "../docs/quickstart.md")), "```sh\n")
	script, _, ok := strings.Cut(text, "```\n")
	if !ok || strings.Count(script, "my-agent claude") != 1 || strings.Count(script, " -it ") != 1 {
		t.Fatalf("docs/quickstart.md says %q", script)
	}
	bin := filepath.Join(h.Home, "quickstart")
	h.mkdir(t, bin)
	h.Write(t, bin, "gh", "#!/bin/sh\n", 0o755)
	inside := image(t, "busybox") + ` sh -c 'hostexec ls; echo login >~/login; echo new >created'`
	script = strings.NewReplacer("my-agent claude", inside, " -it ", " ", "--name agent", "--label "+runLabel).Replace(script)
	r := h.feed(t, "", "sh", "-ec", "PATH="+bin+":$PATH\n"+script)
	for _, command := range []string{"git", "gh", "make"} {
		if !strings.Contains(strings.Join(strings.Fields(r.Out), " "), command+" ask") {
			t.Errorf("hostexec ls in the container does not list %s: %v", command, r)
		}
	}
	want(t, "the agent's login", string(readFile(t, filepath.Join(h.Home, ".agent", "login"))), "login\n")
	created := filepath.Join(h.Work, "created")
	check(t, os.Chmod(created, 0o600)) // whoever this is may, as root may
	want(t, "what a host command reads", h.feed(t, "", "cat", created).Out, "new\n")
}
