// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"net/http"
	"path"
	"strings"
)

// The engine's router is gorilla/mux. It compares the decoded path with /v{version}/containers/create and
// /containers/create, exactly. It answers a path with "//", "/./" or "/../" by a redirect to the clean path. Podman's
// router compares the path before decoding. The functions below accept each path that either router accepts. They also
// accept other versions, other letter case and unclean paths: the engine decides on these.

// segments returns the cleaned path of r without the version, as a list.
func segments(r *http.Request) []string {
	if !strings.EqualFold(r.Method, http.MethodPost) {
		return nil
	}
	all := strings.Split(strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/"), "/")
	if len(all) > 1 && !strings.EqualFold(all[0], "containers") {
		all = all[1:]
	}
	if !strings.EqualFold(all[0], "containers") {
		return nil
	}
	return all
}

// isCreate reports whether an engine may take r for the creation of a container.
func isCreate(r *http.Request) bool {
	all := segments(r)
	return len(all) == 2 && strings.EqualFold(all[1], "create")
}

// isStart reports whether an engine may take r for the start or restart of a container, and returns the container's id.
func isStart(r *http.Request) (id string, ok bool) {
	all := segments(r)
	if len(all) < 3 {
		return "", false
	}
	last := all[len(all)-1]
	return strings.Join(all[1:len(all)-1], "/"), strings.EqualFold(last, "start") || strings.EqualFold(last, "restart")
}
