// SPDX-License-Identifier: Apache-2.0

package http

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/plugin/carrier"
)

// Token is the name of the file in a share that has the session's token.
const Token = "token"

// newKey returns 32 random bytes in hexadecimal.
func newKey() string {
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// KeptKey returns the key in file, and makes one if there is none. Its mode is 0600.
func KeptKey(file string) (string, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return MadeKey(file)
	}
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	if key := strings.TrimSpace(string(b)); len(key) == hex.EncodedLen(32) {
		return key, nil
	}
	return "", fmt.Errorf("read the key: there is none in %s", file)
}

// MadeKey puts a new key into file, of mode 0600, and returns it.
func MadeKey(file string) (string, error) {
	key := newKey()
	f, err := os.CreateTemp(filepath.Dir(file), ".key-*") // 0600
	if err != nil {
		return "", fmt.Errorf("write the key: %w", err)
	}
	_, err = f.WriteString(key + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("write the key: %w", err)
	}
	return key, nil
}

// WriteToken has the container that share is mounted in know its token.
func WriteToken(share, token string) error {
	if err := carrier.WriteFile(share, Token, token); err != nil {
		return fmt.Errorf("write the token: %w", err)
	}
	return nil
}

// sameKey compares keys in a time that does not tell where they differ. No key is the same
// as none.
func sameKey(got, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}
