// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxReason is the maximum number of bytes of a typed reason.
const maxReason = 400

const (
	escape    = 27
	backspace = 8
	del       = 127 // most terminals send it for backspace
)

// readReason reads the reason for a denial. It returns false if the user cancels.
func readReason(ctx context.Context, out io.Writer, keys <-chan byte) (reason string, ok bool) {
	return readLine(ctx, out, keys, "Reason, which the caller reads (Enter refuses it, Esc goes back): ")
}

// readLine reads a line from a raw terminal, and echoes it. It returns false if the user cancels.
func readLine(ctx context.Context, out io.Writer, keys <-chan byte, prompt string) (text string, ok bool) {
	fmt.Fprint(out, "\n"+prompt)
	defer fmt.Fprintln(out)
	var line []byte
	for {
		select {
		case key := <-keys: // 0 after the terminal was closed
			switch {
			case key == enter || key == newline:
				return strings.TrimSpace(strings.ToValidUTF8(string(line), "")), true
			case key == escape || key == ctrlC || key == ctrlD || key == ctrlBackslash || key == 0:
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
