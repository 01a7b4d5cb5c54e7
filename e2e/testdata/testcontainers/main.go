// SPDX-License-Identifier: Apache-2.0

// Command testcontainers acts like another project's test: it starts a container of the image in its argument by
// testcontainers-go. Its Ryuk removes the container when this process has ended.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/exec"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run starts a container of image, and runs command in it. It does not terminate the container: Ryuk does.
func run(ctx context.Context, image string, command []string) error {
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: testcontainers.ContainerRequest{Image: image, Cmd: []string{"sleep", "1000"}, Labels: map[string]string{"tested": "1"}},
		Started:          true,
	})
	if err != nil {
		return err
	}
	code, out, err := c.Exec(ctx, command, exec.Multiplexed())
	if err != nil {
		return err
	}
	text, err := io.ReadAll(out)
	fmt.Printf("%s%s %d\n", text, c.GetContainerID(), code)
	return err
}
