// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
)

// request is a JSON-RPC request.
type request struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// Handshake returns the two lines that begin an ACP session in cwd: initialize with id 0, and session/new
// with id 1. The client gets the agent's replies to both.
func Handshake(cwd string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, r := range []request{
		{"2.0", 0, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": struct{}{}}},
		{"2.0", 1, "session/new", map[string]any{"cwd": cwd, "mcpServers": []any{}}},
	} {
		_ = enc.Encode(r) // cannot fail
	}
	return b.Bytes()
}
