// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// replyChunk is the number of bytes that a client must read within eventWriteTimeout.
const replyChunk = 1 << 20

// Reply sends v as JSON. The reply may be of any length as long as the client keeps reading.
func Reply(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"error":"the reply cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	conn := http.NewResponseController(w)
	for chunk := range slices.Chunk(append(b, '\n'), replyChunk) {
		_ = conn.SetWriteDeadline(time.Now().Add(eventWriteTimeout)) // a test recorder has no deadline
		if _, err := w.Write(chunk); err != nil {
			return // the client has disconnected
		}
	}
}

// problem is the body of an error reply.
type problem struct {
	Error string `json:"error"`
}
