// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Attacks that a rule about the source keeps out, whatever is called with what.

// product calls f with every file of the product.
func product(t *testing.T, f func(s source)) {
	t.Helper()
	n := 0
	for _, s := range sources(t) {
		if !s.test && s.dir != "e2e" && !strings.HasPrefix(s.dir, "e2e/") {
			n++
			f(s)
		}
	}
	if n < 200 {
		t.Fatalf("%d files are the product, which cannot be all", n)
	}
}

// byPath changes a file that is found by its path, whatever that leads to by then.
var byPath = regexp.MustCompile(`^(os|unix|syscall)\.(Chmod|Lchmod|Chown|Lchown|Chtimes|Utimes?|UtimesNano|Lutimes|Fchmodat|Fchownat|Futimesat|UtimesNanoAt)$`)

// mayByPath are the exceptions, by file, each with its reason.
var mayByPath = map[string]string{
	"plugin/watch/container/service.go/os.Chtimes":      "the lease lies in the session's folder, which is private and never mounted",
	"plugin/verb/devcontainer/lease_unix.go/os.Chtimes": "as above",
	"plugin/verb/devcontainer/session.go/os.Chtimes":    "as above",
}

// TestNoChangeByPath forbids chmod, chown and utimes by path in the product: between bind(2) or
// mkdir(2) and the change, another process can put a link there.
//
// Attack 17.
func TestNoChangeByPath(t *testing.T) {
	product(t, func(s source) {
		eachCall(s.ast, func(call *ast.CallExpr, name string) {
			if byPath.MatchString(name) && mayByPath[s.dir+"/"+s.name+"/"+name] == "" {
				t.Errorf("%s: %s goes by a path: change what is open, or below an os.Root", sourcePlace(call), name)
			}
		})
	})
}

// TestNoParentDeathSignal holds the product to ending commands by other means: the kernel sends
// that signal when the thread ends that forked, and not the process (prctl(2)).
//
// Attack 154.
func TestNoParentDeathSignal(t *testing.T) {
	product(t, func(s source) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && (id.Name == "Pdeathsig" || id.Name == "PR_SET_PDEATHSIG") {
				t.Errorf("%s: %s", sourcePlace(id), id.Name)
			}
			return true
		})
	})
}

// opens are the calls that open a file with flags, and which argument these are.
var opens = map[string]int{"unix.Open": 1, "syscall.Open": 1, "unix.Openat": 2, "syscall.Openat": 2, "unix.Openat2": 2, "os.OpenFile": 1}

// noTerminal are flags with which no terminal is opened, or none becomes anybody's own.
var noTerminal = regexp.MustCompile(`O_NOCTTY|O_PATH|O_DIRECTORY|O_EXCL`)

// mayOpen are the exceptions, by file, each with its reason.
var mayOpen = map[string]string{
	"plugin/state/log.go":                    "it lies in the state directory, which is private",
	"plugin/state/callengines.go":            "as above",
	"plugin/verb/devcontainer/lease_unix.go": "as above",
}

// TestOpensTakeNoTerminal holds every open with flags to O_NOCTTY: a watcher leads a session
// without a terminal, and the first one that it opens would become its own, whose hang-up
// ends it.
//
// Attack 38.
func TestOpensTakeNoTerminal(t *testing.T) {
	flags := map[string]string{} // values of constants and variables, by package and name
	product(t, func(s source) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) {
						flags[s.dir+"."+name.Name] += " " + sourceText(n.Values[i])
					}
				}
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if i < len(n.Rhs) {
						flags[s.dir+"."+sourceText(to)] += " " + sourceText(n.Rhs[i])
					}
				}
			}
			return true
		})
	})
	n := 0
	product(t, func(s source) {
		eachCall(s.ast, func(call *ast.CallExpr, name string) {
			arg, ok := opens[name]
			if !ok || mayOpen[s.dir+"/"+s.name] != "" || sourceText(call.Args[0]) == "os.DevNull" || strings.Contains(s.name, "windows") {
				return
			}
			n++
			given := sourceText(call.Args[arg])
			for _, word := range regexp.MustCompile(`\w+`).FindAllString(given, -1) {
				given += flags[s.dir+"."+word]
			}
			if !noTerminal.MatchString(given) {
				t.Errorf("%s: %s without O_NOCTTY: %s", sourcePlace(call), name, given)
			}
		})
	})
	if n < 20 {
		t.Errorf("%d calls open files, which cannot be all", n)
	}
}

// TestOpensOfContainersHaveFlags forbids os.Open in packages that open files which a container
// names, because it follows links, blocks on a named pipe, and takes a terminal.
//
// Attack 38.
func TestOpensOfContainersHaveFlags(t *testing.T) {
	product(t, func(s source) {
		if s.dir != "exec/dir" || strings.HasSuffix(s.name, "_other.go") {
			return
		}
		eachCall(s.ast, func(call *ast.CallExpr, name string) {
			switch name {
			case "os.Open", "os.ReadFile", "os.Create", "os.WriteFile", "os.RemoveAll":
				if _, constant := call.Args[0].(*ast.BasicLit); constant {
					return // no name of a container
				}
				t.Errorf("%s: %s", sourcePlace(call), name)
			}
		})
	})
}

// TestNoAbstractSockets forbids abstract sockets in the product: everybody in the same network
// namespace can use them, and they have no mode.
//
// Attack 43.
func TestNoAbstractSockets(t *testing.T) {
	n := 0
	product(t, func(s source) {
		ast.Inspect(s.ast, func(node ast.Node) bool {
			lit, ok := node.(*ast.CompositeLit)
			if !ok || lit.Type == nil {
				return true
			}
			if typ := sourceText(lit.Type); !strings.HasSuffix(typ, ".UnixAddr") && !strings.HasSuffix(typ, ".SockaddrUnix") {
				return true
			}
			n++
			for _, elt := range lit.Elts {
				kv, ok := elt.(*ast.KeyValueExpr)
				if !ok || sourceText(kv.Key) != "Name" {
					continue
				}
				if name := sourceText(kv.Value); !regexp.MustCompile(`^(fmt\.Sprintf\("/proc/|filepath\.Join\(|path$|socket$)`).MatchString(name) {
					t.Errorf("%s: it is not seen that %s is a path", sourcePlace(kv), name)
				}
			}
			return true
		})
		eachCall(s.ast, func(call *ast.CallExpr, name string) {
			if (strings.HasSuffix(name, ".Listen") || strings.HasSuffix(name, ".Dial")) && len(call.Args) > 0 && strings.HasPrefix(sourceText(call.Args[0]), `"unix`) {
				t.Errorf("%s: %s of a unix socket: use the functions that there are", sourcePlace(call), name)
			}
		})
	})
	if n < 4 {
		t.Errorf("%d addresses of unix sockets, which cannot be all", n)
	}
}

// promisedQuotes are messages of other tools, which callers match as they are.
var promisedQuotes = map[string]bool{
	"command '%s' not found in PATH": true, "proxy for '%s' already running (PID %d)": true, "proxy for '%s' already running (PID ": true,
	"[proxy] Listening for '%s' commands...\n": true, "agent command '%s' not found in PATH": true,
	"Docker image '%s' not found. Build it with: docker build -t %s .": true, "invalid agent.mode: %s (must be '%s' or '%s')": true,
}

// TestOneQuotingStyle checks that errors show values in the form of names.Quoted: bare, or in
// double quotes where needed.
func TestOneQuotingStyle(t *testing.T) {
	seen := 0
	product(t, func(s source) {
		eachCall(s.ast, func(call *ast.CallExpr, name string) {
			if name != "fmt.Errorf" && name != "fmt.Sprintf" && name != "Say" && !strings.HasSuffix(name, ".fail") && !strings.HasSuffix(name, ".Say") {
				return
			}
			for _, arg := range call.Args {
				lit, ok := arg.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				seen++
				text, err := strconv.Unquote(lit.Value)
				check(t, err)
				if (strings.Contains(text, "%q") || strings.Contains(text, "'%s'")) && !promisedQuotes[text] {
					t.Errorf("%s: %q: show values by names.Quoted", sourcePlace(call), text)
				}
			}
		})
	})
	if seen < 500 {
		t.Errorf("%d texts were checked", seen)
	}
}
