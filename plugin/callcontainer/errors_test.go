// SPDX-License-Identifier: Apache-2.0

package callcontainer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"
)

// TestExplain checks that each error has a hint with a command for the right engine.
//
// Attack 204.
func TestExplain(t *testing.T) {
	lost := fmt.Errorf("No such image: img:latest (%w)", errdefs.ErrNotFound)
	network := fmt.Errorf("network image not found (%w)", errdefs.ErrNotFound)
	for _, tt := range []struct {
		name       string
		err        error
		host       string
		text, hint string
	}{
		{"an image", lost, "", "the engine has no image img", "docker pull img on the host"},
		{"an image elsewhere", lost, "unix:///e", "the engine at unix:///e has no image img", "docker --host unix:///e pull img on the host"},
		{"no name of an image", fmt.Errorf("invalid reference format: repository name must be lowercase (%w)", errdefs.ErrInvalidArgument), "", `"img" cannot be the name`, "docker image ls on the host"},
		{"no answer", unreachable(t), "", "the engine does not answer: ", "docker info on the host"},
		{"no answer elsewhere", unreachable(t), "unix:///e", "the engine at unix:///e does not answer: ", "docker --host unix:///e info"},
		{"no answer in time", context.DeadlineExceeded, "tcp://e", "the engine at tcp://e does not answer: ", "docker --host tcp://e info"},
		{"another machine", errors.New("bind source path does not exist: /dir/1"), "ssh://e", "the engine at ssh://e does not see this host's directories", "choose an engine on this host"},
		{"another directory", errors.New("bind source path does not exist: /other"), "", "bind source path does not exist: /other", ""},
		{"a network", network, "", "the engine has no network image", "docker network ls"},
	} {
		err := explain(tt.err, Spec{Image: "img", DockerHost: tt.host, Network: "image"}, "/dir/1")
		var hint interface{ Hint() string }
		if !strings.HasPrefix(err.Error(), tt.text) || errors.As(err, &hint) != (tt.hint != "") || hint != nil && !strings.Contains(hint.Hint(), tt.hint) {
			t.Errorf("%s: %v, hint %v", tt.name, err, hint)
		}
	}
	for code, text := range map[int64]string{125: "sockets of this host do not work in containers of the engine at ssh://e", 137: "the container ended with 137 before its command began"} {
		if err := endedEarly(code, Spec{DockerHost: "ssh://e"}); err.Error() != text {
			t.Errorf("endedEarly(%d) = %v", code, err)
		}
	}
	if err := explain(nil, Spec{}, ""); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

// unreachable returns the error of a client whose engine does not answer.
func unreachable(t *testing.T) error {
	t.Helper()
	api, err := client.NewClientWithOpts(client.WithHost("unix:///e"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.Ping(t.Context())
	return err
}
