// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// TestRemoteEngine checks engines with several answers. Only an engine that reports that it does
// not see the directory counts as remote, and mounts are not checked there.
//
// Attack 171.
func TestRemoteEngine(t *testing.T) {
	for name, tt := range map[string]struct {
		code   int
		says   string // with the directory for @
		remote bool
		err    string
	}{
		"it sees it":        {201, "", false, ""},
		"it does not":       {400, "invalid mount config for type \"bind\": bind source path does not exist: @", true, ""},
		"it misses another": {400, "bind source path does not exist: /elsewhere", false, "find out which directories the engine sees"},
		"no image":          {404, "No such image: x", false, "the image of container c was removed"},
		"something else":    {500, "out of order", false, "out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				var asked struct{ HostConfig container.HostConfig }
				if r.Method != http.MethodPost || json.Unmarshal(b, &asked) != nil || len(asked.HostConfig.Mounts) != 1 {
					return // its removal
				}
				dir := asked.HostConfig.Mounts[0].Source
				if !strings.HasPrefix(dir, home+"/") {
					t.Errorf("%s is shown, want a directory in %s", dir, home)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.code)
				json.NewEncoder(w).Encode(map[string]string{"Id": "x", "message": strings.ReplaceAll(tt.says, "@", dir)})
			}))
			defer srv.Close()
			api, err := client.NewClientWithOpts(client.WithHost("tcp://"+srv.Listener.Addr().String()), client.WithVersion("1.44"))
			if err != nil {
				t.Fatal(err)
			}
			c := container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{Name: "/c", Image: "x"}}
			got, err := hasRemoteFiles(t.Context(), api, home, c)
			if got != tt.remote || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("hasRemoteFiles = %t, %v", got, err)
			}
			if left, _ := os.ReadDir(home); len(left) != 0 {
				t.Errorf("%d directories are left", len(left))
			}
		})
	}
}
