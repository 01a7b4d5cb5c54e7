// SPDX-License-Identifier: Apache-2.0

package hostcode

import (
	"slices"
	"strings"
	"testing"
)

// below is an Owner that can write all files below one directory.
type below string

func (b below) Writable(p string) bool        { return p == string(b) || strings.HasPrefix(p, string(b)+"/") }
func (b below) ControlsFilesIn(p string) bool { return b.Writable(p) }
func (b below) Writer(string) string          { return "the container" }
func (b below) WritableSources() []string     { return []string{string(b)} }

// Attacks 62, 215, 233.
func TestEnviron(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"PATH=/w/venv/bin:/usr/bin", "PATH=/usr/bin"},
		{"PATH=/usr/bin:/w", "PATH=/usr/bin"},
		{"PATH=:/usr/bin::./bin:.:node_modules/.bin:/bin:", "PATH=/usr/bin:/bin"},
		{"PATH=", "PATH=" + systemPath},
		{"PATH=/w/bin:.", "PATH=" + systemPath},
		{"PATH=/workspace/bin:/usr/bin", "PATH=/workspace/bin:/usr/bin"},
		{"PATH=/proc/self/cwd/bin:/usr/bin:/dev/fd/../cwd/bin://proc/./thread-self/cwd:/usr/../proc/self/root/w/bin", "PATH=/usr/bin"},
		{"LD_PRELOAD=/w/x.so", ""},
		{"PYTHONPATH=/proc/self/cwd/lib:/opt/py", "PYTHONPATH=/opt/py"},
		{"GIT_SSH_COMMAND=/proc/self/cwd/ssh -v", ""},
		{"LD_PRELOAD=/usr/lib/a.so /w/x.so:libc.so.6 ./y.so", "LD_PRELOAD=/usr/lib/a.so:libc.so.6"},
		{"LD_AUDIT=/w/x.so", ""},
		{"GDK_PIXBUF_MODULE_FILE=/w/loaders", ""},
		{"KRB5_CONFIG=/w/krb5.conf", ""},
		{"LD_LIBRARY_PATH=:/opt/lib", "LD_LIBRARY_PATH=/opt/lib"},
		{"LD_LIBRARY_PATH=", "LD_LIBRARY_PATH="},
		{"LD_BIND_NOW=1", "LD_BIND_NOW=1"},
		{"PYTHONPATH=/opt/py:/w/py:", "PYTHONPATH=/opt/py"},
		{"PYTHONPATH=lib", ""},
		{"NODE_PATH=/w/node_modules", ""},
		{"GEM_PATH=:/opt/gems", "GEM_PATH=:/opt/gems"}, // the empty entry means the default
		{"GEM_PATH=vendor/gems:/opt/gems", "GEM_PATH=/opt/gems"},
		{"LUA_PATH=/w/?.lua;./?.lua;;", "LUA_PATH=;"},
		{"GIT_EXEC_PATH=/w/git-core", ""},
		{"GIT_SSH_COMMAND=ssh -F /w/ssh_config", ""},
		{"GIT_SSH_COMMAND=ssh -i /home/u/.ssh/key", "GIT_SSH_COMMAND=ssh -i /home/u/.ssh/key"},
		{"GIT_SSH_COMMAND='/w/ssh' -v", ""},
		{"GIT_EDITOR=tools/edit", ""},
		{"EDITOR=vim", "EDITOR=vim"},
		{"EDITOR=code --wait", "EDITOR=code --wait"},
		{"VISUAL=./edit", ""},
		{"LESSOPEN=|/w/lesspipe %s", ""},
		{"LESSOPEN=| /usr/bin/lesspipe %s", "LESSOPEN=| /usr/bin/lesspipe %s"},
		{"NODE_OPTIONS=--require /w/x.js", ""},
		{"NODE_OPTIONS=--require=/w/x.js", ""},
		{"NODE_OPTIONS=-r dotenv/config", ""},
		{"NODE_OPTIONS=--import ./x.mjs", ""},
		{"NODE_OPTIONS=--import file:///w/x.mjs", ""},
		{"NODE_OPTIONS=--max-old-space-size=4096 --require /opt/x.js", "NODE_OPTIONS=--max-old-space-size=4096 --require /opt/x.js"},
		{"PERL5OPT=-I/w/lib -MEvil", ""},
		{"PERL5OPT=-MDevel::Cover=-db,/tmp/cover", "PERL5OPT=-MDevel::Cover=-db,/tmp/cover"},
		{"RUBYOPT=-rbundler/setup", "RUBYOPT=-rbundler/setup"},
		{"JAVA_TOOL_OPTIONS=-javaagent:/w/x.jar", ""},
		{"JDK_JAVA_OPTIONS=@/w/args", ""},
		{"GOFLAGS=-mod=mod -toolexec=/w/x", ""},
		{"GOFLAGS=-toolexec=./x", ""},
		{"GOFLAGS=-ldflags=-X=github.com/w/bar.Version=1", "GOFLAGS=-ldflags=-X=github.com/w/bar.Version=1"},
		{"npm_config_script_shell=/w/sh", ""},
		{"npm_config_registry=https://registry.example/w/x", "npm_config_registry=https://registry.example/w/x"},
		{"BASH_ENV=/w/env", ""},
		{"CFLAGS=-O2 -fplugin=/w/x.so", ""},
		{"CFLAGS=-O2 -Wall", "CFLAGS=-O2 -Wall"},
		{"CGO_LDFLAGS=-L/w/lib", ""},
		{"CMAKE_C_COMPILER_LAUNCHER=/w/x", ""},
		{"PYTEST_ADDOPTS=-p x --rootdir=/w", ""},
		{"CPATH=/w/include:/opt/include", "CPATH=/opt/include"},
		{"GOWORK=/w/go.work", ""},
		{"GOWORK=off", "GOWORK=off"},
		{"BASH_FUNC_ls%%=() { /w/evil; }", ""},
		{"ENV=/home/u/.shrc", "ENV=/home/u/.shrc"},
		{"RUSTC_WRAPPER=/w/wrap", ""},
		{"VIRTUAL_ENV=/w/venv", ""},
		{"MAKEFILES=/opt/a.mk /w/b.mk", ""},
		{"XDG_CONFIG_HOME=/w/.config", ""},
		{"TMPDIR=/w/tmp", ""},
		{"SHELL=/w/sh", ""},
		{"KUBECONFIG=/w/kube:/home/u/.kube/config", "KUBECONFIG=/dev/null"},
		{"DOCKER_CONFIG=/w/.docker", "DOCKER_CONFIG=/dev/null"},
		{"KUBECONFIG=kubeconfig.yaml", "KUBECONFIG=/dev/null"},
		{"KUBECONFIG=/home/u/.kube/config:dir/other", "KUBECONFIG=/dev/null"},
		{"KUBECONFIG=/home/u/.kube/config:/home/u/other", "KUBECONFIG=/home/u/.kube/config:/home/u/other"},
		{"DOCKER_CONFIG=.docker", "DOCKER_CONFIG=/dev/null"},
		{"BASH_ENV=env.sh", ""},
		{"GIT_CONFIG_GLOBAL=gitconfig", ""},
		{"GIT_CONFIG_KEY_0=core.pager", "GIT_CONFIG_KEY_0=core.pager"},
		{"GIT_DIR=.git", ""},
		{"GIT_DIR=/w/.git", ""},
		{"OPENSSL_CONF=x.cnf", ""},
		{"TMPDIR=tmp", ""},
		{"ENV=production", "ENV=production"},
		{"PERL5OPT=-w -Ilib", ""},
		{"RUBYOPT=-Ilib", ""},
		{"RUBYOPT=-I/opt/lib", "RUBYOPT=-I/opt/lib"},
		{"JAVA_TOOL_OPTIONS=-Xmx1g -javaagent:agent.jar", ""},
		{"JAVA_TOOL_OPTIONS=-Duser.timezone=Europe/Berlin -javaagent:/opt/agent.jar", "JAVA_TOOL_OPTIONS=-Duser.timezone=Europe/Berlin -javaagent:/opt/agent.jar"},
		{"GOFLAGS=-mod=mod -toolexec=tools/x", ""},
		{"GOFLAGS=-mod=mod -toolexec=/opt/x", "GOFLAGS=-mod=mod -toolexec=/opt/x"},
		{"GOCACHEPROG=/w/prog", ""},
		{"KUBECTL_EXTERNAL_DIFF=/w/diff -u", ""},
		{"CARGO_REGISTRY_CREDENTIAL_PROVIDER=/w/x", ""},
		{"CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS=cargo:token /w/x", ""},
		{"CARGO_REGISTRY_TOKEN=a/b", "CARGO_REGISTRY_TOKEN=a/b"},
		{"HOME=/w/home", "HOME=/w/home"}, // kept and reported
		{"PWD=/w", "PWD=/w"}, {"PROJECT_BIN=/w/bin", "PROJECT_BIN=/w/bin"},
	} {
		kept, found := Environ([]string{tt.in}, below("/w"))
		if got := strings.Join(kept, "\n"); got != tt.want {
			t.Errorf("Environ(%s) = %q, want %q", tt.in, got, tt.want)
		}
		if changed := tt.in != tt.want || strings.HasPrefix(tt.in, "HOME="); changed != (len(found) > 0) && tt.in != "PATH=" {
			t.Errorf("Environ(%s): %d findings, %v", tt.in, len(found), found)
		}
	}
}

// TestEnvironGit checks that if one of git's counted settings is removed, the count is removed too.
//
// Attack 215.
func TestEnvironGit(t *testing.T) {
	in := []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.sshCommand", "GIT_CONFIG_VALUE_0=/w/ssh", "GIT_CONFIG_KEY_1=a.b", "GIT_CONFIG_VALUE_1=c", "GIT_AUTHOR_NAME=/w"}
	kept, found := Environ(in, below("/w"))
	if want := []string{in[1], in[3], in[4], in[5]}; !slices.Equal(kept, want) || len(found) != 1 {
		t.Errorf("Environ = %q, %v, want %q", kept, found, want)
	}
}

func TestFindingText(t *testing.T) {
	_, found := Environ([]string{"PATH=/w/bin:/usr/bin:."}, below("/w"))
	want := []string{
		`PATH has "/w/bin", which the container can write: commands do without it`,
		`PATH has ".", which is in a directory of the caller's choice: commands do without it`,
	}
	for i, f := range found {
		if i >= len(want) || f.String() != want[i] {
			t.Errorf("finding %d: %s", i, f)
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d findings, want %d", len(found), len(want))
	}
}
