// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
)

// nonce is the name of a file in a session's share: by its text a relay proves that it sees this share.
const nonce = "nonce"

// WriteNonce puts a nonce into share and returns it.
func WriteNonce(share string) (string, error) {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	text := hex.EncodeToString(b[:])
	if err := carrier.WriteFile(share, nonce, text); err != nil {
		return "", fmt.Errorf("mark the share: %w", err)
	}
	return text, nil
}
