// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"testing"

	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/launch"
)

var additions = launch.Additions{
	Env:    []string{"A=1", "PATH=/run/hostexec/bin:/bin"},
	Labels: map[string]string{"io.hostexec.session": "0123456789ab"},
	Mounts: []mount.Mount{{Type: mount.TypeBind, Source: "/s", Target: "/run/hostexec", ReadOnly: true}},
}

// TestAdd checks that all fields of the client's request are kept, including those that this
// version does not know.
func TestAdd(t *testing.T) {
	const share = `{"Type":"bind","Source":"/s","Target":"/run/hostexec","ReadOnly":true}`
	for _, tt := range []struct{ name, in, want string }{
		{"nothing else", `{}`, `{"Env":["A=1","PATH=/run/hostexec/bin:/bin"],"HostConfig":{"Mounts":[` + share + `]},"Labels":{"io.hostexec.session":"0123456789ab"}}`},
		{"null", `{"Env":null,"HostConfig":null,"Labels":null}`, `{"Env":["A=1","PATH=/run/hostexec/bin:/bin"],"HostConfig":{"Mounts":[` + share + `]},"Labels":{"io.hostexec.session":"0123456789ab"}}`},
		{
			"unknown fields",
			`{"Env":["A=1"],"HostConfig":{"FromTomorrow":{"n":12345678901234567890},"Memory":1e9,"Mounts":[{"Target":"/t","New":[1]}]},"Labels":{"mine":"<1>"},"NewToo":"\u0000"}`,
			`{"Env":["A=1","PATH=/run/hostexec/bin:/bin"],"HostConfig":{"FromTomorrow":{"n":12345678901234567890},"Memory":1e9,"Mounts":[{"New":[1],"Target":"/t"},` + share + `]},"Labels":{"io.hostexec.session":"0123456789ab","mine":"<1>"},"NewToo":"\u0000"}`,
		},
		{"a label of ours", `{"Labels":{"io.hostexec.session":"stolen"},"Env":[],"HostConfig":{}}`, `{"Env":["A=1","PATH=/run/hostexec/bin:/bin"],"HostConfig":{"Mounts":[` + share + `]},"Labels":{"io.hostexec.session":"0123456789ab"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := decode([]byte(tt.in))
			if err == nil {
				err = addTo(tree, additions)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode(tree)
			if err != nil || string(got) != tt.want {
				t.Errorf("add = %s, %v\nwant  %s", got, err, tt.want)
			}
		})
	}
}

func TestAddRefusesOtherTypes(t *testing.T) {
	for _, in := range []string{`{"HostConfig":[]}`, `{"Labels":["a=b"]}`, `{"HostConfig":{"Mounts":{}}}`} {
		tree, err := decode([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if err := addTo(tree, additions); err == nil {
			t.Errorf("%s is accepted", in)
		}
	}
}

func TestAddDirectoryAndHosts(t *testing.T) {
	tree := map[string]any{"WorkingDir": "", "HostConfig": map[string]any{"ExtraHosts": []any{"a:1.2.3.4"}}}
	if err := addTo(tree, launch.Additions{Env: []string{}, WorkingDir: "/src", ExtraHosts: []string{"b:1.2.3.4"}}); err != nil {
		t.Fatal(err)
	}
	got, err := encode(tree)
	if want := `{"Env":[],"HostConfig":{"ExtraHosts":["a:1.2.3.4","b:1.2.3.4"]},"Labels":{},"WorkingDir":"/src"}`; err != nil || string(got) != want {
		t.Errorf("add = %s, %v\nwant  %s", got, err, want)
	}
}

func TestWanted(t *testing.T) {
	tree, err := decode([]byte(`{"image":"img","ENV":["PATH=/x"],"hostconfig":{"binds":["/a:/b"]},"Labels":{"K":"1","k":"2"}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseCreation(&CreateRequest{Body: tree, Name: "n", Platform: "linux/arm64/v8"})
	if err != nil || got.Config.Image != "img" || got.Config.Env[0] != "PATH=/x" || got.Host.Binds[0] != "/a:/b" || got.Config.Labels["K"]+got.Config.Labels["k"] != "12" {
		t.Errorf("wanted = %+v %+v, %v", got.Config, got.Host, err)
	}
	if p := got.Platform; p.OS != "linux" || p.Architecture != "arm64" || p.Variant != "v8" || got.Name != "n" {
		t.Errorf("platform = %+v, name %q", p, got.Name)
	}
	if _, err := parseCreation(&CreateRequest{Body: map[string]any{"Env": "PATH=/x"}}); err == nil {
		t.Error("an Env that is no list is accepted")
	}
	if got, err := parseCreation(&CreateRequest{Body: map[string]any{}}); err != nil || got.Config == nil || got.Host == nil || got.Platform != nil {
		t.Errorf("an empty request: %+v, %v", got, err)
	}
}
