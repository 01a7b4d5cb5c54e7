// SPDX-License-Identifier: Apache-2.0

package names

import (
	"crypto/rand"
	"encoding/hex"
)

// RandomHex returns n random bytes in hexadecimal: 2n digits.
func RandomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}
