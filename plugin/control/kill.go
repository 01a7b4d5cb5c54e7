// SPDX-License-Identifier: Apache-2.0

package control

import "net/http"

// kill ends the command of request id or its leftover processes.
func kill(w http.ResponseWriter, id string, s Session) {
	if !extendDeadlines(w) {
		return
	}
	if !s.Kill(id) && !s.EndLeftovers(id) {
		Reply(w, http.StatusNotFound, problem{ErrNotRunning.Error()})
		return
	}
	Reply(w, http.StatusOK, result{Status: "killed", ID: id})
}
