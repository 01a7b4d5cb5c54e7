// SPDX-License-Identifier: Apache-2.0

package wire

// A string is encoded as its length in four bytes and its bytes; a list is a count and its strings. The
// skip functions check received data without allocations. The take functions require data that was
// checked, and return parts of it.

func appendString(b []byte, s string) []byte {
	return append(appendUint32(b, uint32(len(s))), s...)
}

func appendStrings(b []byte, list []string) []byte {
	b = appendUint32(b, uint32(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func skipString(s string) (rest string, ok bool) {
	if len(s) < 4 {
		return "", false
	}
	n := uint32At(s)
	s = s[4:]
	if uint64(n) > uint64(len(s)) {
		return "", false
	}
	for i := range n {
		if s[i] == 0 { // execve(2) would cut the string there
			return "", false
		}
	}
	return s[n:], true
}

func skipStrings(s string) (count int, rest string, ok bool) {
	if len(s) < 4 {
		return 0, "", false
	}
	n := uint32At(s)
	s = s[4:]
	if uint64(n)*4 > uint64(len(s)) {
		return 0, "", false
	}
	for range n {
		if s, ok = skipString(s); !ok {
			return 0, "", false
		}
	}
	return int(n), s, true
}

func takeString(s string) (string, string) {
	n := uint32At(s)
	return s[4 : 4+n], s[4+n:]
}

func takeStrings(s string) ([]string, string) {
	n := uint32At(s)
	s = s[4:]
	if n == 0 {
		return nil, s
	}
	list := make([]string, n)
	for i := range list {
		list[i], s = takeString(s)
	}
	return list, s
}
