// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/docker-hostexec/hostexec/"

// allowedImports lists the packages of this module that each package may import. Imports go down only.
var allowedImports = map[string]string{
	"shim/wire":        "",
	"exec/broadcast":   "",
	"exec/dir":         "",
	"exec/dir/dirtest": "",
	"exec/mount":       "exec/dir exec/names",
	"exec/limit":       "exec/broadcast",
	"exec/inputs":      "exec/dir exec/names",
	"exec/names":       "",
	"exec/flags":       "exec/names",
	"exec/osenv":       "",
	"exec/exectest":    "",
	"exec/proctree":    "",
	"exec/policy":      "exec/names",
	"exec/recording":   "exec/names",
	"plugin/state":     "exec/dir exec/names",
	"plugin/notify":    "exec/osenv exec/proctree",
	"plugin/volume":    "",
	"plugin/metadata":  "",
	"plugin/keeper":    "exec/proctree",
	"docs":             "", // the parts of the documentation that the plugin prints

	"exec":          "", // documentation, it holds no code
	"exec/approval": "exec/broadcast exec/inputs exec/policy exec/names",
	"exec/audit":    "exec/policy exec/names",
	"exec/gitpush":  "exec/dir exec/executor exec/limit exec/names exec/sandbox",
	"exec/git":      "exec/dir exec/limit exec/mount exec/names exec/osenv",
	"exec/executor": "exec/proctree exec/dir exec/osenv exec/sandbox",
	"exec/hostcode": "exec/dir exec/osenv",
	"exec/sandbox":  "",
	"exec/job":      "exec/broadcast exec/dir exec/executor exec/proctree exec/names",
	"exec/shell":    "exec/executor exec/proctree exec/dir exec/limit exec/names exec/osenv exec/sandbox",
	"exec/call":     "exec/broadcast exec/dir exec/mount exec/git exec/gitpush exec/policy exec/proctree exec/approval exec/audit exec/recording exec/executor exec/hostcode exec/inputs exec/job exec/shell exec/limit exec/sandbox shim/wire exec/names exec/osenv",

	"exec/verb":          "exec/call exec/flags exec/gitpush exec/executor exec/job exec/names exec/policy exec/proctree exec/shell shim/wire",
	"exec/call/calltest": "exec/approval exec/audit exec/call exec/dir exec/executor exec/job exec/mount exec/policy exec/shell exec/verb shim/wire",

	"shim":           "shim/wire",
	"shim/initproc":  "shim/wire",
	"plugin/config":  "plugin/state exec/dir exec/policy exec/limit exec/names exec/osenv",
	"plugin/carrier": "shim/wire exec/dir exec/limit exec/names",

	"plugin/carrier/socket": "exec/dir",
	"plugin/carrier/relay":  "plugin/carrier shim/wire exec/names",
	"plugin/carrier/http":   "plugin/carrier exec/dir exec/names shim/wire",
	"plugin/carrier/files":  "plugin/carrier exec/dir exec/limit exec/names shim/wire",

	"plugin/inject":        "plugin/state exec/dir exec/names exec/osenv",
	"plugin/callcontainer": "exec/executor exec/dir exec/mount shim/wire shim/initproc",
	"plugin/control":       "plugin/state exec/proctree exec/policy exec/approval exec/audit exec/inputs exec/job exec/shell exec/names",
	"plugin/page":          "plugin/state plugin/control exec/approval exec/audit exec/broadcast exec/dir exec/names exec/osenv",
	"plugin/watch":         "plugin/state plugin/config plugin/carrier plugin/carrier/files plugin/carrier/http plugin/carrier/relay plugin/carrier/socket plugin/control plugin/callcontainer plugin/notify exec/call exec/verb exec/proctree exec/names exec/osenv exec/sandbox exec/limit",
	"plugin/watch/container": "plugin/watch plugin/state plugin/config plugin/carrier plugin/carrier/relay plugin/callcontainer plugin/notify plugin/volume " +
		"exec/audit exec/hostcode exec/limit exec/mount exec/names exec/osenv shim/wire",
	"plugin/watch/process":   "plugin/watch exec/executor exec/mount",
	"plugin/watch/directory": "plugin/watch plugin/state plugin/carrier plugin/carrier/files exec/dir exec/mount",
	"plugin/agent":           "plugin/watch plugin/inject plugin/callcontainer plugin/config plugin/state exec/osenv exec/names",

	"plugin/cli":                   "exec/flags exec/names exec/osenv",
	"plugin/cli/clitest":           "",
	"plugin/sessions":              "plugin/cli plugin/config plugin/control plugin/inject plugin/state plugin/watch exec/names plugin/callcontainer",
	"plugin/sessions/sessionstest": "plugin/state",
	"plugin/launch": "plugin/carrier plugin/carrier/files plugin/carrier/http plugin/cli plugin/config plugin/callcontainer plugin/control plugin/metadata plugin/inject " +
		"plugin/notify plugin/page plugin/sessions plugin/state plugin/watch plugin/watch/container exec/dir exec/mount exec/hostcode " +
		"exec/policy exec/names exec/osenv exec/sandbox",

	"plugin/apiproxy": "plugin/carrier/socket plugin/cli plugin/config plugin/callcontainer plugin/control plugin/launch plugin/sessions plugin/state " +
		"plugin/watch plugin/watch/container exec/dir exec/mount exec/names exec/policy",

	// Verbs do not import each other.
	"plugin/verb/agent": "plugin/agent plugin/carrier plugin/cli plugin/config plugin/control plugin/launch plugin/sessions " +
		"plugin/state plugin/watch exec/mount exec/policy exec/names docs",
	"plugin/verb/approve": "plugin/cli plugin/control plugin/page plugin/sessions plugin/state exec/approval exec/policy " +
		"exec/names",
	"plugin/verb/audit":        "plugin/cli plugin/sessions plugin/state exec/audit exec/names",
	"plugin/verb/devcontainer": "plugin/cli plugin/inject plugin/launch plugin/sessions plugin/state plugin/watch exec/names",
	"plugin/verb/doctor": "plugin/carrier plugin/carrier/socket plugin/cli plugin/config plugin/callcontainer plugin/control plugin/metadata plugin/inject " +
		"plugin/launch plugin/sessions plugin/state plugin/watch exec/limit exec/policy exec/names",
	"plugin/verb/job": "plugin/cli plugin/control plugin/sessions plugin/state exec/dir exec/job exec/recording exec/names",
	"plugin/verb/policy": "plugin/cli plugin/config plugin/control plugin/launch plugin/sessions plugin/state plugin/watch exec/audit " +
		"exec/policy exec/names exec/osenv",
	"plugin/verb/proxy": "plugin/carrier plugin/cli plugin/metadata plugin/inject plugin/launch plugin/notify plugin/sessions plugin/state " +
		"plugin/watch exec/mount exec/hostcode exec/policy exec/osenv exec/names",
	"plugin/verb/run":     "plugin/carrier plugin/cli plugin/inject plugin/launch plugin/sessions plugin/state exec/names",
	"plugin/verb/service": "plugin/cli plugin/watch exec/names",
	"plugin/verb/session": "plugin/cli plugin/config plugin/callcontainer plugin/control plugin/metadata plugin/inject plugin/launch " +
		"plugin/sessions plugin/state plugin/watch plugin/watch/container plugin/watch/directory plugin/watch/process exec/names",
	"plugin/verb/shell": "plugin/cli plugin/control plugin/sessions plugin/state exec/shell exec/names",
	"plugin/verb/with":  "plugin/apiproxy plugin/cli plugin/config plugin/launch plugin/sessions plugin/state exec/names",
	"plugin": "plugin/cli plugin/metadata plugin/inject plugin/keeper plugin/launch plugin/sessions plugin/verb/agent " +
		"plugin/verb/approve plugin/verb/audit plugin/verb/devcontainer plugin/verb/doctor plugin/verb/job " +
		"plugin/verb/policy plugin/verb/proxy plugin/verb/run plugin/verb/service plugin/verb/session " +
		"plugin/verb/shell plugin/verb/with plugin/watch exec/job exec/names",

	"cmd/hostexec":        "shim shim/initproc",
	"cmd/hostexec-shell":  "exec/shell exec/proctree",
	"cmd/docker-hostexec": "plugin shim exec/proctree", // it is a shim and a helper too, by argv[0]

	"e2e":       "shim/wire",
	"e2e/probe": "",
}

// extraImports are additional imports, each with a reason.
var extraImports = map[[2]string]string{
	{"plugin/config", "exec/hostcode"}:      "it finds the program of a rule on PATH as a call does, and its link targets",
	{"plugin/config", "exec/inputs"}:        "it checks the patterns of inputs as a call does",
	{"plugin/config", "exec/gitpush"}:       "it checks the names and URLs of remotes as a call does",
	{"plugin/watch", "exec/gitpush"}:        "it has the remotes of the calls that it has served",
	{"plugin/verb/session", "exec/gitpush"}: "prune removes its copies of remotes",
	{"plugin/page", "exec/job"}:             "it cuts the texts of ended commands as those of jobs",
	{"plugin/page", "exec/mount"}:           "it makes the table of files that containers can write; a browser is started without these",
	{"plugin/page", "exec/hostcode"}:        "it finds a browser, and makes its environment, as for commands",
	{"plugin/watch", "exec/approval"}:       "it makes the queue that calls ask and that control answers",
	{"plugin/watch", "exec/audit"}:          "it opens the log of the calls that it has served",
	{"plugin/watch", "exec/dir"}:            "it makes the directories of requests, which containers can write",
	{"plugin/watch", "exec/mount"}:          "it makes the table of the container's mounts",
	{"plugin/watch", "exec/hostcode"}:       "it cleans the environment of calls, and warns about writable programs",
	{"plugin/watch", "exec/executor"}:       "it makes the runner of the calls that it has served",
	{"plugin/watch", "exec/job"}:            "it opens the table of the session's jobs",
	{"plugin/watch", "plugin/inject"}:       "it has the program that runs shells in containers",
	{"plugin/watch", "exec/shell"}:          "it holds the shells of the session that it serves",
	{"plugin/watch", "exec/policy"}:         "it makes the policy of the session's record",
}

// denied are imports that would undo the purpose of a package. deep includes indirect imports.
var denied = []struct {
	packages, path string
	deep           bool
	why            string
}{
	{"exec", "github.com/docker/", true, "exec does not depend on Docker: it runs commands for any caller"},
	{"exec", "net/http", true, "exec serves calls over the connections that its caller passes"},
	{"exec/policy", "os", false, "Decide is a pure function: a decision depends on its arguments alone"},
	{"shim", "fmt", true, "it makes the shim larger, and each start of it slower"},
	{"shim", "net", true, "it makes each start of the shim slower: use raw system calls"},
	{"shim", "net/http", true, "the shim uses frames"},
	{"shim", "encoding/json", true, "the host renders all text"},
	{"shim", "log", true, "the shim writes only to stderr"},
	{"shim", "flag", true, "the shim parses nothing: its arguments are the command's"},
	{"cmd/hostexec", "fmt", true, "it is the shim"},
	{"cmd/hostexec", "net", true, "it is the shim"},
	{"shim/wire", "fmt", true, "the protocol of both sides depends on nothing but io"},
	{"shim/wire", "os", true, "the protocol of both sides depends on nothing but io"},
	{"plugin/metadata", "fmt", true, "docker waits for it before each command: it runs before other packages are initialized"},
	{"plugin/keeper", "net", true, "it runs before other packages are initialized"},
	{"plugin/keeper", "regexp", true, "it runs before other packages are initialized"},
	{"plugin/cli", module + "plugin/", true, "each verb imports it: code that only some verbs need is in other packages"},
	{"plugin/verb", module + "plugin/verb/", false, "verbs never import each other: common code is in a package that both import, or is passed to them"},
	{"plugin/state", "github.com/docker/docker", false, "records are files; other packages ask the engine"},
	{"", "github.com/moby/moby", true, "one client library: its types are not those of docker/docker"},
	{"", "github.com/stretchr/testify", false, "a test reports got and want itself"},
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir, Name string
	GoFiles               []string
	Imports, Deps         []string
}

func (p listed) name() string { return strings.TrimPrefix(p.ImportPath, module) }

func list(t *testing.T, goos string) (all []listed) {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Name,GoFiles,Imports,Deps", "./...")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v", goos, err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestDeps checks the imports on each system that the command line supports.
func TestDeps(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			for _, p := range list(t, goos) {
				checkPackage(t, p)
				for _, d := range denied {
					if within := d.packages == "" || p.name() == d.packages || strings.HasPrefix(p.name(), d.packages+"/"); !within {
						continue
					}
					if bad := imports(p, d.path, d.deep); bad != "" {
						t.Errorf("%s imports %s: denied, because %s", p.name(), bad, d.why)
					}
				}
			}
		})
	}
}

// checkPackage checks that p is listed and has only permitted imports.
func checkPackage(t *testing.T, p listed) {
	t.Helper()
	may, ok := allowedImports[p.name()]
	if !ok {
		t.Errorf("%s is not listed: add it to allowedImports in e2e/deps_test.go", p.name())
		return
	}
	for _, imp := range p.Imports {
		ours, ok := strings.CutPrefix(imp, module)
		if ok && !slices.Contains(strings.Fields(may), ours) && extraImports[[2]string{p.name(), ours}] == "" {
			t.Errorf("%s imports %s: denied, because it may import only [%s] of ours", p.name(), ours, may)
		}
	}
}

// imports returns the imports of p that equal path, or that lie below it if path ends in a slash.
func imports(p listed, path string, deep bool) string {
	list := p.Imports
	if deep {
		list = p.Deps
	}
	for _, imp := range list {
		if imp == path || strings.HasSuffix(path, "/") && strings.HasPrefix(imp, path) {
			return imp
		}
	}
	return ""
}

// TestWire checks the one package that may import a single package.
func TestWire(t *testing.T) {
	for _, p := range list(t, "linux") {
		if p.name() == "shim/wire" && !slices.Equal(p.Imports, []string{"io"}) {
			t.Errorf("shim/wire imports %q, want only io", p.Imports)
		}
	}
}
