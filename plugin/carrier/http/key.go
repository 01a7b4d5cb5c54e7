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

// Token is the name of the file in a share with the session's token.
const Token = "token"

// LoadKey returns the key in file. If there is none, or an empty file, as after a power failure, it creates the file
// with mode 0600.
func LoadKey(file string) (string, error) {
	b, err := dir.ReadPlain(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return NewKey(file)
	}
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	if key := strings.TrimSpace(string(b)); len(key) == hex.EncodedLen(32) {
		return key, nil
	}
	return "", fmt.Errorf("read the key: there is none in %s", file)
}

// NewKey puts a new key into file, of mode 0600, and returns it.
func NewKey(file string) (string, error) {
	key := names.RandomHex(32)
	if err := dir.Replace(file, []byte(key+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the key: %w", err)
	}
	return key, nil
}

// WriteToken writes token into share, for the container in which share is mounted.
func WriteToken(share, token string) error {
	if err := carrier.WriteFile(share, Token, token); err != nil {
		return fmt.Errorf("write the token: %w", err)
	}
	return nil
}

// sameKey compares keys in constant time. An empty key is equal to no key.
func sameKey(got, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}
