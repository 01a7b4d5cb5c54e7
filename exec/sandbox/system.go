// SPDX-License-Identifier: Apache-2.0

package sandbox

// Path permits access to a directory or file of the host by its path.
type Path struct {
	Name   string // absolute
	Access Access
}

// System lists what every program needs: programs and libraries, the system's configuration, devices without state, and
// the terminal. Paths that do not exist are skipped. In /proc, a program can read files of other processes that need no
// right to trace them, such as cmdline and status. Landlock denies the others, such as environ.
var System = []Path{
	{"/usr", Execute}, {"/bin", Execute}, {"/sbin", Execute},
	{"/lib", Execute}, {"/lib32", Execute}, {"/lib64", Execute}, {"/libx32", Execute},
	{"/opt", Execute}, {"/nix/store", Execute}, {"/gnu/store", Execute}, {"/snap", Execute},
	{"/etc", Read}, {"/proc", Read}, {"/sys", Read}, {"/run/systemd/resolve", Read},
	{"/dev/null", Device}, {"/dev/zero", Device}, {"/dev/full", Device}, {"/dev/random", Device}, {"/dev/urandom", Device},
	{"/dev/tty", Device},
}
