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

// peer identifies the process at the other end of a connection.
type peer struct{ uid, pid int }

// admitted reports whether the connected process has our uid or is root, and runs in our namespaces. A
// process in a container does not, even if the socket is mounted there.
func admitted(c *net.UnixConn) bool {
	p, ok := peerOf(c)
	return ok && (p.uid == 0 || p.uid == os.Geteuid()) && inOurNamespaces(c, p)
}

type peerKey struct{}

// withPeer stores the peer of the connection in the context.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if u, ok := c.(*net.UnixConn); ok {
		if p, ok := peerOf(u); ok {
			return context.WithValue(ctx, peerKey{}, p)
		}
	}
	return ctx
}

// peerUser returns the name of the user whose process sent r. It returns the uid if the user has no name.
func peerUser(r *http.Request) string {
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

// StartedByCall reports whether a call or the agent of a session started this process, directly or indirectly: then a
// keeper is among its ancestors. It returns true if that is unknown. A watcher accepts no decisions from such a
// process.
func StartedByCall() bool { return startedByCall(os.Getpid()) }

// rejectCalledProcess rejects requests from processes that a call from a container has started, in any session. A
// caller can never approve its own request.
func rejectCalledProcess(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p, ok := r.Context().Value(peerKey{}).(peer); !ok || startedByCall(p.pid) {
			Reply(w, http.StatusForbidden, problem{ErrStartedByCall.Error()})
			return
		}
		h(w, r)
	}
}
