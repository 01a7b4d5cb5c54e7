// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxReason is how many bytes a reason may have that is typed for a denial.
const maxReason = 400

const (
	escape    = 27
	backspace = 8
	del       = 127 // what most terminals send for backspace
)

// readReason reads a line from a raw terminal, and shows what is typed. It reports false if the
// person changed their mind.
func readReason(ctx context.Context, out io.Writer, keys <-chan byte) (reason string, ok bool) {
	fmt.Fprint(out, "\nReason, which the caller reads (Enter refuses it, Esc goes back): ")
	defer fmt.Fprintln(out)
	var line []byte
	for {
		select {
		case key := <-keys: // 0 when the terminal has gone
			switch {
			case key == enter || key == newline:
				return strings.TrimSpace(strings.ToValidUTF8(string(line), "")), true
			case key == escape || key == ctrlC || key == ctrlD || key == 0:
				return "", false
			case key == backspace || key == del:
				if _, n := utf8.DecodeLastRune(line); n > 0 {
					line = line[:len(line)-n]
					fmt.Fprint(out, "\b \b")
				}
			case key >= ' ' && len(line) < maxReason:
				line = append(line, key)
				out.Write([]byte{key})
			}
		case <-ctx.Done():
			return "", false
		}
	}
}
