// SPDX-License-Identifier: Apache-2.0

package control

// Printable shows s as questions are shown: as it is if that is printable ASCII, and quoted
// otherwise, so that two that differ look different.
func Printable(s string) string { return printable(s) }

// PrintableArgs is Printable of each of args.
func PrintableArgs(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		shown[i] = printable(arg)
	}
	return shown
}
