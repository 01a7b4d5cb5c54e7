// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
)

// peer is who is at the other end of a connection.
type peer struct{ uid, pid int }

// admitted reports whether the process that connected has our uid or is root, and is no
// container's: whatever the socket was mounted into, its namespaces are not ours.
func admitted(c *net.UnixConn) bool {
	p, ok := peerOf(c)
	return ok && (p.uid == 0 || p.uid == os.Geteuid()) && atHome(c, p)
}

type peerKey struct{}

// withPeer notes whose process a connection is.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if u, ok := c.(*net.UnixConn); ok {
		if p, ok := peerOf(u); ok {
			return context.WithValue(ctx, peerKey{}, p)
		}
	}
	return ctx
}

// whoAsks names the user whose process sent r, by number where the number has no name.
func whoAsks(r *http.Request) string {
	p, ok := r.Context().Value(peerKey{}).(peer)
	if !ok {
		return ""
	}
	number := strconv.Itoa(p.uid)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}

// Called reports whether this process is a command that a container called, or was started
// by one: then no watcher lets it answer for a person.
func Called() bool { return called(os.Getpid()) }

// byPerson lets a request through unless a command sent it that a container called, of
// this session or another: whoever requests never approves.
func byPerson(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p, ok := r.Context().Value(peerKey{}).(peer); !ok || called(p.pid) {
			Reply(w, http.StatusForbidden, problem{ErrCalled.Error()})
			return
		}
		h(w, r)
	}
}
