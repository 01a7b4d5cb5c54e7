// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/docker/cli/cli/command"
)

// Confirm prints message and asks for y or n. Every answer except y or Y means no. It returns an error if ctx
// ends before an answer.
func Confirm(ctx context.Context, dockerCLI command.Cli, message string) (bool, error) {
	fmt.Fprint(dockerCLI.Out(), message, " [y/N] ")
	answer := make(chan string, 1)
	// ends with a line, the end of stdin, or this process: the read from a terminal cannot be interrupted
	go func() {
		line, _ := bufio.NewReader(dockerCLI.In()).ReadString('\n') // an answer may end without a newline
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(dockerCLI.Out())
		return false, errors.New("prompt terminated")
	case line := <-answer:
		return strings.EqualFold(line, "y"), nil
	}
}
