// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/cli"
)

// TestFromCompose: compose is known by its words, before any variable is looked at.
//
// Attack 186.
func TestFromCompose(t *testing.T) {
	for args, want := range map[string]bool{
		"/p/docker-hostexec compose metadata":                          true,
		"/p/docker-hostexec compose --project-name=p up --service=web": true,
		"/p/docker-hostexec compose --project-name=p down":             true,
		"/p/docker-hostexec compose --project-name=p stop":             true,
		"hostexec-provider compose --project-name=p up":                false, // once is enough
		"/p/docker-hostexec hostexec compose --project-name=p up":      false, // docker
		"/p/docker-hostexec compose --project-name=p ps":               false,
		"/p/docker-hostexec compose --project-name=p":                  false,
		"/p/docker-hostexec compose -- up":                             false,
		"/p/docker-hostexec compose":                                   false,
		"/p/docker-hostexec":                                           false,
	} {
		if got := FromCompose(strings.Fields(args)); got != want {
			t.Errorf("fromCompose(%s) = %t, want %t", args, got, want)
		}
	}
}

// Attack 186.
func TestOwnEnviron(t *testing.T) {
	env, err := ownEnviron("A=1\x00DOCKER_CLI_PLUGIN_SOCKET=@x\x00B=a=b\nc\x00DOCKER_CONFIG=/c\x00\x00junk\x00E=\x00")
	if want := []string{"A=1", "B=a=b\nc", "DOCKER_CONFIG=/c", "E="}; err != nil || !slices.Equal(env, want) {
		t.Errorf("%q, %v, want %q", env, err, want)
	}
	if _, err := ownEnviron(""); err == nil {
		t.Error("one that is not to be seen is none")
	}
}

// TestRefuseProvider: compose shows what is said in JSON, and a person stderr.
func TestRefuseProvider(t *testing.T) {
	var out, errOut bytes.Buffer
	args := []string{"docker-hostexec", "compose", "--project-name=p", "up"}
	code := RefuseProvider(&out, &errOut, args, errors.New("permission denied"))
	if code != cli.CodeVerb || !strings.HasPrefix(out.String(), `{"type":"error","message":"hostexec: the environment`) || !strings.Contains(errOut.String(), "permission denied") {
		t.Errorf("%d, %s, %s", code, &out, &errOut)
	}
	out.Reset()
	args[2] = "metadata"
	if RefuseProvider(&out, &errOut, args, errors.New("permission denied")); out.Len() > 0 {
		t.Errorf("metadata: %s", &out)
	}
}
