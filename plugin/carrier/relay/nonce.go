// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
)

// nonce is the name of a file in a session's share. With its text a relay proves that it sees this share.
const nonce = "nonce"

// WriteNonce puts a nonce into share and returns it.
func WriteNonce(share string) (string, error) {
	text := names.RandomHex(16)
	if err := carrier.WriteFile(share, nonce, text); err != nil {
		return "", fmt.Errorf("write the nonce: %w", err)
	}
	return text, nil
}
