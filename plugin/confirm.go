// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/docker/cli/cli/command"
)

// confirm prints message and asks for y or n. Any answer but y or Y means no. Without an answer it returns an error
// when ctx ends.
func confirm(ctx context.Context, cli command.Cli, message string) (bool, error) {
	fmt.Fprint(cli.Out(), message, " [y/N] ")
	answer := make(chan string, 1)
	// ends with a line or the end of stdin, or with this process: a read of a terminal cannot be interrupted
	go func() {
		line, _ := bufio.NewReader(cli.In()).ReadString('\n') // an answer may end without a newline
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(cli.Out())
		return false, errors.New("prompt terminated")
	case line := <-answer:
		return strings.EqualFold(line, "y"), nil
	}
}
