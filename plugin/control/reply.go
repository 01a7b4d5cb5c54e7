// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"net/http"
)

// Reply answers with v, in JSON.
func Reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v) // fails only if the client has gone
}

// problem is what an answer is that is not the one hoped for.
type problem struct {
	Error string `json:"error"`
}
