// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"reflect"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

func TestParseProxies(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want []state.Command
	}{
		{"none", nil, []state.Command{}},
		{"plain", []string{"make"}, []state.Command{{Name: "make", Action: "allow"}}},
		{"actions", []string{"a=allow", "b=ask", "c=deny"}, []state.Command{{Name: "a", Action: "allow", Explicit: true}, {Name: "b", Action: "ask", Explicit: true}, {Name: "c", Action: "deny", Explicit: true}}},
		{"short path", []string{"gcc=/opt/x/../gcc"}, []state.Command{{Name: "gcc", Action: "allow", Path: "/opt/gcc"}}},
		{"long path", []string{"gcc=ask,path=/opt/gcc"}, []state.Command{{Name: "gcc", Action: "ask", Path: "/opt/gcc", Explicit: true}}},
		{"where host", []string{"gcc,where=host,path=/opt/gcc"}, []state.Command{{Name: "gcc", Action: "allow", Path: "/opt/gcc", Where: &state.Place{}}}},
		{"where container", []string{"gcc=ask,where=container:reg:5000/gcc:14@sha256:ab,path=/opt/gcc,docker_host=unix:///e,network=none,memory=1g,cpus=1.5,pids=9"}, []state.Command{{Name: "gcc", Action: "ask", Explicit: true, Path: "/opt/gcc",
			Where: &state.Place{Image: "reg:5000/gcc:14@sha256:ab", DockerHost: "unix:///e", Network: "none", Memory: 1 << 30, CPUs: 15e8, Pids: 9}}}},
		{"kept", []string{"a=ask,keep", "b,keep,path=/b"}, []state.Command{{Name: "a", Action: "ask", Explicit: true, Keep: true}, {Name: "b", Action: "allow", Path: "/b", Keep: true}}},
		{"all that names may hold", []string{"g++-12.1_x", "7z"}, []state.Command{{Name: "g++-12.1_x", Action: "allow"}, {Name: "7z", Action: "allow"}}},
		{"longest name", []string{strings.Repeat("a", 64)}, []state.Command{{Name: strings.Repeat("a", 64), Action: "allow"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseProxies(tt.args)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("parseProxies(%q) = %+v, %v, want %+v", tt.args, got, err, tt.want)
			}
		})
	}
}

// Attack 205.
func TestParseProxiesRefuses(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // in the error
	}{
		{[]string{""}, `--proxy "": no command named`},
		{[]string{"=allow"}, "--proxy =allow: no command named"},
		{[]string{"../x"}, "--proxy ../x: the name of a command has"},
		{[]string{"-x"}, "--proxy -x: the name of a command has"},
		{[]string{"."}, "the name of a command has"},
		{[]string{"a/b"}, "the name of a command has"},
		{[]string{"/usr/bin/make"}, "the name of a command has"},
		{[]string{"a b"}, "the name of a command has"},
		{[]string{"make\n"}, `--proxy "make\n": the name of a command has`},
		{[]string{"mäke"}, `--proxy "m\u00e4ke": the name of a command has`},
		{[]string{strings.Repeat("a", 65)}, "at most 64"},
		{[]string{"hostexec"}, "reserved for hostexec"},
		{[]string{"x=bogus"}, "--proxy x=bogus: must be allow, ask, deny or an absolute path: bogus"},
		{[]string{"x="}, `an absolute path: ""`},
		{[]string{"x=ALLOW"}, "must be allow, ask, deny"},
		{[]string{"x=./y"}, "an absolute path: ./y"},
		{[]string{"x,path=y"}, "must be an absolute path: y"},
		{[]string{"x=/a,path=/b"}, "two paths"},
		{[]string{"x,where=container:"}, "where: no image named"},
		{[]string{"x,where=container:-v"}, "where: -v cannot be the name of an image"},
		{[]string{"x,where=container:a b"}, "cannot be the name of an image"},
		{[]string{"x,where=container:a,where=host"}, "where given twice"},
		{[]string{"x,where=container:a,pids=3,pids=4"}, "pids given twice"},
		{[]string{"x,where=checkout"}, "checkout is not supported yet"},
		{[]string{"x,where=foo"}, "none of host, sandbox and container:IMAGE"},
		{[]string{"x,docker_host=unix:///e"}, "need where=container:IMAGE"},
		{[]string{"x,where=container:a,docker_host=nas"}, "is not an engine's address: unix:///path"},
		{[]string{"x,where=container:a,docker_host=unix://e"}, "is not an engine's address"},
		{[]string{"x,where=container:a,docker_host=tcp://h;reboot"}, "is not an engine's address"},
		{[]string{"x,where=container:a,network=host"}, "with network host"},
		{[]string{"x,where=container:a,privileged=true"}, "unknown option privileged"},
		{[]string{"x,memory=1g"}, "limits need where=container:IMAGE"},
		{[]string{"x,where=host,pids=3"}, "limits need where=container"},
		{[]string{"x,where=container:a,cpus=0"}, "not a number of CPUs"},
		{[]string{"x,where=container:a,network=-x"}, "cannot be a network"},
		{[]string{"x,where=moon"}, "where: moon is none"},
		{[]string{"make,git"}, "unknown option git (for a second command give --proxy again)"},
		{[]string{"make,"}, `unknown option ""`},
		{[]string{"make,keep=yes"}, "keep takes no value"},
		{[]string{"make", "git", "make=deny"}, "--proxy make=deny: given twice"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			got, err := ParseProxies(tt.args)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parseProxies(%q) = %+v, %v, want an error with %q", tt.args, got, err, tt.want)
			}
		})
	}
}

func TestCheckEnv(t *testing.T) {
	for name, ok := range map[string]bool{
		"HOME": true, "_x1": true, "": false, "1A": false, "A B": false, "A=1": false, "A\n": false, "A-B": false, "HOSTEXEC_HOME": false,
	} {
		if err := CheckEnv([]string{name}); (err == nil) != ok {
			t.Errorf("checkEnv(%q) = %v, want ok %v", name, err, ok)
		}
	}
}

func TestCheckCarrier(t *testing.T) {
	for name, want := range map[string]string{
		"auto": "", "socket": "", "relay": "", "files": "", "": "there are", "pigeon": "--carrier pigeon",
	} {
		err := checkCarrier(name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("checkCarrier(%q) = %v, want %q", name, err, want)
		}
	}
}
