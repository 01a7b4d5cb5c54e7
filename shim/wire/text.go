// SPDX-License-Identifier: Apache-2.0

package wire

// A string is encoded as its length in four bytes and its bytes; a list is a count and its strings. The
// skip functions check received data without allocations. The take functions require data that was
// checked.

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

func skipString(p []byte) (rest []byte, ok bool) {
	if len(p) < 4 {
		return nil, false
	}
	n := uint32At(p)
	p = p[4:]
	if uint64(n) > uint64(len(p)) {
		return nil, false
	}
	for _, c := range p[:n] {
		if c == 0 { // execve(2) would cut the string there
			return nil, false
		}
	}
	return p[n:], true
}

func skipStrings(p []byte) (count int, rest []byte, ok bool) {
	if len(p) < 4 {
		return 0, nil, false
	}
	n := uint32At(p)
	p = p[4:]
	if uint64(n)*4 > uint64(len(p)) {
		return 0, nil, false
	}
	for range n {
		if p, ok = skipString(p); !ok {
			return 0, nil, false
		}
	}
	return int(n), p, true
}

func takeString(s string) (string, string) {
	n := takeUint32(s)
	return s[4 : 4+n], s[4+n:]
}

func takeStrings(s string) ([]string, string) {
	n := takeUint32(s)
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

func takeUint32(s string) int {
	return int(uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3]))
}
