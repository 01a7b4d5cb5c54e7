// SPDX-License-Identifier: Apache-2.0

package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// FuzzReadRequest reads requests of any bytes. An accepted request has the command that the caller named, which is served
// here, and exactly the caller's arguments. A request that was read is removed.
//
// Attack 25.
func FuzzReadRequest(f *testing.F) {
	f.Add([]byte("test\x00"), []byte("make\x00cwd=/w\x00env=CI=1\x00alive=1\x00exit=status\x00"), true)
	f.Add([]byte("push\x00"), []byte("gh"), true)
	f.Add([]byte("not whole"), []byte("git\n\x00stdin=stream\x00out=one"), true)
	f.Add([]byte("a\x00\x00"), []byte{}, false)
	f.Fuzz(func(t *testing.T, text, command []byte, named bool) {
		if len(text)+len(command) > 64<<10 {
			return
		}
		p, base := openServedDir(t)
		p.Commands, p.Others, p.Cwd = []string{"make", "git"}, func() []string { return []string{"gh"} }, func() string { return "/w" }
		putFile(t, filepath.Join(base, "x.req"), text, 0o600)
		if named {
			putFile(t, filepath.Join(base, "x.cmd"), command, 0o600)
		}
		req, ok := (&Listener{dirs: []*servedDir{p}}).readRequest(p, "x")
		if _, err := os.Stat(filepath.Join(base, "x.req")); ok != os.IsNotExist(err) {
			t.Errorf("%q, %q: read is %v, and then the request: %v", text, command, ok, err)
		}
		if !ok || req.refusal != "" {
			return
		}
		name, _, _ := strings.Cut(string(command), "\x00")
		if args := req.exec.Args; !named || args[0] != strings.TrimSuffix(name, "\n") || !slices.Contains(p.Commands, args[0]) || !slices.Equal(args[1:], fields(text)) {
			t.Errorf("%q, %q: a call of %q", text, command, args)
		}
		if fds := req.exec.FDs; fds[1] != wire.FDFile || fds[2] != wire.FDFile {
			t.Errorf("%q, %q: descriptors %v", text, command, fds)
		}
	})
}
