// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationAttackOpener checks that the page is opened by the host's own xdg-open, although
// the container can write a directory of the host's PATH.
//
// Attack 222.
func TestIntegrationAttackOpener(t *testing.T) {
	h := newHost(t, false)
	bin, ran := filepath.Join(h.Work, "bin"), filepath.Join(h.Home, "ran")
	h.mkdir(t, bin)
	opened := h.screen(t)
	path := "PATH=" + bin + ":" + filepath.Join(h.Home, "bin") + ":/usr/local/bin:/usr/bin:/bin"
	h.Env = append(h.Env, path, "BROWSER="+filepath.Join(bin, "xdg-open"))
	h.endPages(t)
	c := h.Holding(t, "--proxy", "hsh=ask,path=/bin/sh")
	for _, name := range []string{"xdg-open", "xdg-settings"} {
		want(t, "planted", c.Exec(t, "sh", "-c", `printf '#!/bin/sh\necho "$0" >>`+ran+`\n' >/w/bin/`+name+` && chmod 755 /w/bin/`+name).Code, 0)
	}
	h.Write(t, filepath.Join(h.Home, "bin"), "xdg-open", "#!/bin/sh\nxdg-settings get default-web-browser >/dev/null 2>&1\necho \"$@ $BROWSER\" >>"+opened.file+"\n", 0o755)
	waitUntilAsked(t, c, "hsh", "-c", "exit 0")
	c.Start(t, "hsh", "-c", "exit 5", "hsh", "opened")
	eventually(t, patience, "something is opened", func() bool { return len(opened.links()) > 0 || exists(ran) })
	h.Must(t, "hostexec", "deny", pending(t, h, "opened", 1)[0].ID)
	if exists(ran) {
		t.Errorf("the container's ran: %s", readFile(t, ran))
	}
	for _, link := range opened.links() {
		want(t, "what is opened, and with which BROWSER", strings.HasPrefix(link, "file://"), true)
	}
}
