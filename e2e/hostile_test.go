// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile is a host with a workspace whose files run one hostile program, and with all that the program attacks.
type hostile struct {
	*Host
	secret  string
	targets map[string]any // as in probe/hostile_linux.go
	victim  *exec.Cmd      // a process of the user
}

// hostileEntry is a way for files of the workspace to run code when a build tool is called.
type hostileEntry struct{ name, file, text, tool, call string }

const hostileCall = "./hostile hostile targets.json out.json"

// hostileEntries run the real make, pytest and go. The other tools are stand-ins. The stand-in for python3 names
// Debian's: by its bare name, python would take the modules of another python in PATH, which may lack pytest.
var hostileEntries = []hostileEntry{
	{"Makefile", "Makefile", "all:\n\t" + hostileCall + "\noutlive:\n\t" + hostileCall + " outlive\n", "", "make"},
	{"conftest.py", "conftest.py", "import subprocess\nsubprocess.run('" + hostileCall + "'.split(), check=True)\n", `exec /usr/bin/python3 "$@"`, "python3 -m pytest -q"},
	{"go generate", "gen.go", "package gen\n\n//go:generate " + hostileCall + "\n", "", "go generate ./..."},
	{"package.json", "package.json", `{"scripts": {"test": "` + hostileCall + `"}}`,
		`exec sh -c "$(sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" package.json)"`, "npm test"},
	// The stand-in compiles C. What cargo runs is the same: a program made of a file of the workspace.
	{"build.rs", "build.rs", "#include <stdlib.h>\nint main(void) { return system(\"" + hostileCall + "\") != 0; }\n",
		"mkdir -p target; gcc -x c build.rs -o target/build-script-build; OUT_DIR=$PWD/target exec target/build-script-build", "cargo build"},
	{"terraform provider", "terraform-provider-hostile", "#!/bin/sh\n" + hostileCall + "\n",
		"export TF_PLUGIN_MAGIC_COOKIE=d602 PLUGIN_PROTOCOL_VERSIONS=5,6; exec ./terraform-provider-hostile", "terraform apply"},
}

// newHostile prepares all targets but those of a session.
func newHostile(t *testing.T, ordinary bool) *hostile {
	t.Helper()
	x := &hostile{Host: newHost(t, ordinary), secret: "of the host " + unique("secret")}
	files, abstract := filepath.Join(x.Home, "files"), unique("abstract")+x.Name
	x.mkdir(t, files)
	probe := string(readFile(t, probePath(t)))
	x.Write(t, x.Work, "hostile", probe, 0o755)
	setuid := x.Write(t, x.Work, "setuid", probe, 0o755)
	owner := ordinaryUID
	if ordinary {
		owner = 0
	}
	check(t, os.Chown(setuid, owner, owner))
	check(t, os.Chmod(setuid, 0o755|os.ModeSetuid))
	bus := filepath.Join(x.Home, "bus")
	listenUnix(t, bus)
	check(t, os.Chmod(bus, 0o777))
	listenUnix(t, "@"+abstract)
	u := x.ui(t)
	origin, _, _ := strings.Cut(u.URL, "/#")
	x.targets = map[string]any{
		"Files": files, "Secret": x.secret, "Docker": "/var/run/docker.sock", "Bus": bus, "Abstract": abstract, "Setuid": "./setuid",
		"Token": filepath.Join(x.State, "page.json"), "Page": strings.TrimPrefix(origin, "http://"), "Servers": answering(t),
	}
	for _, e := range hostileEntries {
		x.Write(t, x.Work, e.file, e.text, 0o755)
	}
	x.Write(t, x.Work, "go.mod", "module gen\n", 0o644)
	x.tools(t)
	x.keyring(t)
	return x
}

// tools writes the stand-ins for tools, and a configuration that lets sandboxes read them.
func (x *hostile) tools(t *testing.T) {
	tools := filepath.Join(x.Home, "tools")
	x.mkdir(t, tools)
	config := "version: 1\ncommands:\n"
	for _, e := range hostileEntries {
		if name, _, _ := strings.Cut(e.call, " "); e.tool != "" {
			x.Write(t, tools, name, "#!/bin/sh\nset -e\n"+e.tool+"\n", 0o755)
			config += "  " + name + ":\n    sandbox: {read: [" + tools + "]}\n"
		}
	}
	x.Write(t, x.State, "config.yaml", config, 0o600)
}

// flags are the proxies of all entries, which run at where.
func (x *hostile) flags(t *testing.T, where string) (flags []string) {
	for _, e := range hostileEntries {
		name, _, _ := strings.Cut(e.call, " ")
		path := filepath.Join(x.Home, "tools", name)
		if e.tool == "" {
			path = find(t, name)
		}
		flags = append(flags, "--proxy", name+"="+path+where)
	}
	return flags
}

// aim writes new canaries, starts a new victim and tells the hostile program its targets.
func (x *hostile) aim(t *testing.T, c, other *Container) {
	t.Helper()
	files := x.targets["Files"].(string)
	for _, name := range canaries {
		x.Write(t, files, name, x.secret, 0o600)
		check(t, os.Chtimes(filepath.Join(files, name), canaryTime, canaryTime))
	}
	os.Remove(filepath.Join(files, "created"))
	os.Remove(filepath.Join(x.Work, "out.json"))
	x.startVictim(t)
	sessions := filepath.Join(x.State, "sessions")
	if c != nil {
		x.targets["Watcher"], x.targets["Keeper"] = x.Watcher(t, c.Session).PID, x.Keeper(t, c.Session).PID
		x.targets["Sockets"] = []string{filepath.Join(sessions, c.Session, "control.sock"),
			filepath.Join(sessions, other.Session, "control.sock"), filepath.Join(sessions, other.Session, "share", "socket")}
	}
	text, err := json.Marshal(x.targets)
	check(t, err)
	x.Write(t, x.Work, "targets.json", string(text), 0o644)
}

// canaries are files of the home, one for each act on files.
var canaries = []string{"read", "overwrite", "truncate", "remove", "move", "link", "mode", "times"}

var canaryTime = time.Unix(1e9, 0)

// untouched checks the canaries.
func (x *hostile) untouched(t *testing.T) {
	t.Helper()
	files := x.targets["Files"].(string)
	for _, name := range canaries {
		fi, err := os.Lstat(filepath.Join(files, name))
		if err != nil || fi.Mode() != 0o600 || !fi.ModTime().Equal(canaryTime) || string(readFile(t, filepath.Join(files, name))) != x.secret {
			t.Errorf("the canary %s has changed: %v, %v", name, fi, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(files, "created")); err == nil {
		t.Error("a file was created in the home")
	}
	want(t, "the victim runs", x.victim.ProcessState == nil && hold(t, x.victim.Process.Pid).Gone(0), false)
}

// keyring puts a key into the user's keyring, until the test ends.
func (x *hostile) keyring(t *testing.T) {
	t.Helper()
	if r := x.feed(t, "", probePath(t), "key", x.secret); r.Code != 0 {
		t.Fatalf("add a key: %v", r)
	}
	t.Cleanup(func() { x.feed(t, "", probePath(t), "key") })
}

// startVictim starts a process that has the secret in its environment and behind descriptor 3. The last one ends.
func (x *hostile) startVictim(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	file, err := os.Open(x.Write(t, x.Home, "held", x.secret, 0o600))
	check(t, err)
	defer file.Close()
	check(t, os.Remove(file.Name()))
	cmd := x.Command(ctx, probePath(t), "pid", "eof")
	cmd.Env = append(cmd.Env, "VICTIM="+x.secret)
	cmd.ExtraFiles = []*os.File{file}
	_, err = cmd.StdinPipe() // its end would end the process
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() { cancel(); cmd.Wait() })
	x.victim, x.targets["Victim"] = cmd, cmd.Process.Pid
}

// listenUnix accepts connections at a unix socket until the test ends.
func listenUnix(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("unix", address)
	check(t, err)
	t.Cleanup(func() { l.Close() })
}

// answering echoes what arrives by TCP and by UDP, and returns the addresses at all interfaces of the host.
func answering(t *testing.T) (addresses []string) {
	t.Helper()
	tcp, err := net.Listen("tcp4", ":0")
	check(t, err)
	_, port, err := net.SplitHostPort(tcp.Addr().String())
	check(t, err)
	udp, err := net.ListenPacket("udp4", ":"+port)
	check(t, err)
	t.Cleanup(func() { tcp.Close(); udp.Close() })
	// end when the cleanup closes the listeners.
	go echoStreams(tcp)
	go echoPackets(udp)
	all, err := net.InterfaceAddrs()
	check(t, err)
	for _, a := range all {
		if ip := a.(*net.IPNet).IP.To4(); ip != nil {
			addresses = append(addresses, net.JoinHostPort(ip.String(), port))
		}
	}
	return addresses
}

func echoStreams(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b := make([]byte, 100)
		n, _ := c.Read(b)
		c.Write(b[:n])
		c.Close()
	}
}

func echoPackets(l net.PacketConn) {
	b := make([]byte, 100)
	for {
		n, from, err := l.ReadFrom(b)
		if err != nil {
			return
		}
		l.WriteTo(b[:n], from)
	}
}
