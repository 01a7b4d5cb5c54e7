// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// replyChunk is how many bytes of a reply a client has patience to take.
const replyChunk = 1 << 20

// Reply answers with v, in JSON. A client that goes on reading gets all of it, however long
// it is.
func Reply(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"error":"the reply cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	conn := http.NewResponseController(w)
	for chunk := range slices.Chunk(append(b, '\n'), replyChunk) {
		_ = conn.SetWriteDeadline(time.Now().Add(patience)) // a recorder of a test has none
		if _, err := w.Write(chunk); err != nil {
			return // the client has gone
		}
	}
}

// problem is what an answer is that is not the one hoped for.
type problem struct {
	Error string `json:"error"`
}
