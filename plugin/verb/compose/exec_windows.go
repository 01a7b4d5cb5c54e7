// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"bytes"
	"context"
	"os"
)

// become runs compose and ends as it does.
func (c *composeTool) become(args []string, _ []*os.File) error {
	cmd := c.child(context.Background(), args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return composeEnd(cmd.Run(), new(bytes.Buffer))
}
