// SPDX-License-Identifier: Apache-2.0

package control

import "net/http"

// kill has s end the command of request id, or what that left running.
func kill(w http.ResponseWriter, id string, s Session) {
	if !patient(w) {
		return
	}
	if !s.Kill(id) && !s.EndLeft(id) {
		Reply(w, http.StatusNotFound, problem{ErrNotRunning.Error()})
		return
	}
	Reply(w, http.StatusOK, settled{Status: "killed", ID: id})
}
