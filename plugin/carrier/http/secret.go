// SPDX-License-Identifier: Apache-2.0

package http

import (
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
)

// ShareTokenFile is the name of the file in a share with the session's token.
const ShareTokenFile = "token"

// LoadSecret returns the secret in file. If the file is missing, or empty after a power failure, it creates one with a
// new secret and mode 0600. Any other content is an error.
func LoadSecret(file string) (string, error) {
	b, err := dir.ReadPlain(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return NewSecret(file)
	}
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	if secret := strings.TrimSpace(string(b)); len(secret) == hex.EncodedLen(32) {
		return secret, nil
	}
	return "", fmt.Errorf("read the secret: there is none in %s", file)
}

// NewSecret puts a new secret into file, of mode 0600, and returns it.
func NewSecret(file string) (string, error) {
	secret := names.RandomHex(32)
	if err := dir.Replace(file, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the secret: %w", err)
	}
	return secret, nil
}

// WriteToken writes token into share, for the container in which share is mounted.
func WriteToken(share, token string) error {
	if err := carrier.WriteFile(share, ShareTokenFile, token); err != nil {
		return fmt.Errorf("write the token: %w", err)
	}
	return nil
}

// sameSecret compares secrets in constant time. An empty secret is equal to no other.
func sameSecret(got, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}
