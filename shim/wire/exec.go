// SPDX-License-Identifier: Apache-2.0

package wire

// FD is the kind of one of the caller's descriptors, as the shim sees it. A closed one is FDNull.
type FD byte

const (
	FDNull   FD = iota // /dev/null or a closed descriptor
	FDPipe             // an anonymous pipe
	FDSocket           // a stream socket
	FDTTY              // a terminal
	FDFile             // a regular file
	FDOther            // any other file, and a pipe, socket or terminal that cannot be passed
)

// Winsize is the size of a terminal in characters and in pixels.
type Winsize struct{ Rows, Cols, X, Y uint16 }

// Exec is the request: run Args in Cwd. In a call container, it has other values: see package initproc.
type Exec struct {
	FDs     [3]FD    // the kinds of 0, 1 and 2
	Passed  byte     // bit i: descriptor i is passed; they come in order
	SameOut bool     // 1 and 2 are one open file, and are copied together
	Winsize Winsize  // of the terminal, if there is one
	Args    []string // the shim's own arguments, argv[0] first
	Cwd     string   // in the container; empty if it is unreachable
	Env     []string // NAME=value
}

// execFixed is the length of an Exec before its first string: version, descriptors, passed, flags and
// window size.
const execFixed = 1 + 3 + 1 + 1 + winsizeLen

// PassedAt is the offset of Passed in the payload of an Exec. A shim changes the encoded byte, because it
// learns only after connecting whether descriptors can be passed.
const PassedAt = 4

// Append appends the payload of m. It may become longer than MaxExec: the caller must check.
func (m *Exec) Append(b []byte) []byte {
	b = append(b, Version, byte(m.FDs[0]), byte(m.FDs[1]), byte(m.FDs[2]), m.Passed, 0)
	if m.SameOut {
		b[len(b)-1] = 1
	}
	b = m.Winsize.Append(b)
	b = appendStrings(b, m.Args)
	b = appendString(b, m.Cwd)
	return appendStrings(b, m.Env)
}

// CheckExec returns the number of strings in Args and Env of the Exec that ParseExec would return, or its error. It
// allocates nothing: many short strings take more memory than their bytes, and the caller may have to limit it.
func CheckExec(p string) (strings int, err error) {
	if len(p) == 0 {
		return 0, ErrMalformed
	}
	if p[0] != Version {
		return 0, ErrVersion
	}
	strings, ok := countStrings(p)
	if !ok {
		return 0, ErrMalformed
	}
	return strings, nil
}

// ParseExec is the inverse of Append. For another version it returns ErrVersion, whatever follows. It is
// strict: extra bytes, a NUL in a string and a missing argv[0] are errors. The strings of the result are parts of p: a
// copy would take as much memory, and a caller can send megabytes.
func ParseExec(p string) (Exec, error) {
	if _, err := CheckExec(p); err != nil {
		return Exec{}, err
	}
	m := Exec{
		FDs:     [3]FD{FD(p[1]), FD(p[2]), FD(p[3])},
		Passed:  p[4],
		SameOut: p[5] == 1,
		Winsize: winsizeAt(p[6:]),
	}
	m.Args, p = takeStrings(p[execFixed:])
	m.Cwd, p = takeString(p)
	m.Env, _ = takeStrings(p)
	return m, nil
}

// Arg0 returns argv[0] from the beginning of an Exec's payload, or "" if it is not complete.
func Arg0(p string) string {
	if len(p) < execFixed+8 || p[0] != Version {
		return ""
	}
	p = p[execFixed+4:]
	rest, ok := skipString(p)
	if !ok {
		return ""
	}
	return p[4 : len(p)-len(rest)]
}

// countStrings checks all of p without an allocation, so that invalid data causes none. It returns the number of
// strings in both lists.
func countStrings(p string) (n int, ok bool) {
	if len(p) < execFixed || p[4] > 7 || p[5] > 1 {
		return 0, false
	}
	if FD(max(p[1], p[2], p[3])) > FDOther {
		return 0, false
	}
	args, p, ok := skipStrings(p[execFixed:])
	if !ok || args == 0 {
		return 0, false
	}
	if p, ok = skipString(p); !ok {
		return 0, false
	}
	env, p, ok := skipStrings(p)
	return args + env, ok && len(p) == 0
}
