// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// targets tells the hostile program where the things are that it attacks. The test writes it into the workspace.
type targets struct {
	Files    string   // a directory of the home, with a canary for each act
	Secret   string   // the content of canaries, and of the variable and the descriptor of Victim
	Docker   string   // the engine's socket
	Sockets  []string // where the host listens: three sockets of sessions
	Bus      string   // where the systemd of the login session listens
	Abstract string   // the name of an abstract socket
	Token    string   // the file with the token of the page
	Page     string   // the address of the page
	Servers  []string // addresses that answer by TCP and by UDP
	Watcher  int
	Keeper   int
	Victim   int    // a process of the user that has Secret
	Setuid   string // this program, owned by another user
}

// an act is one attack. It has succeeded if it returns no error.
type act struct {
	name string
	do   func(t targets) error
}

// hostile tries all acts and writes to the file args[1] the error of each, or "". args[0] is the file with the targets.
// With a third argument it tries the act that ends the session instead.
func hostile(args []string) error {
	var t targets
	text, err := os.ReadFile(args[0])
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return err
	}
	list := acts
	if len(args) > 2 {
		list = []act{{"a process that outlives the session", outlive}}
	}
	results := map[string]string{}
	for _, a := range list {
		results[a.name] = result(a.do(t))
	}
	if text, err = json.Marshal(results); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(args[1], text, 0o666), os.Chmod(args[1], 0o666))
}

func result(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return ""
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// acts are the attacks, in their order. The acts on a process end with its death.
var acts = []act{
	{"read a file of the home", func(t targets) error { return reads(t, filepath.Join(t.Files, "read")) }},
	{"read it by a link of the workspace", readByLink},
	{"list the home", func(t targets) error { _, err := os.ReadDir(t.Files); return err }},
	{"overwrite a file of the home", func(t targets) error { return overwrite(filepath.Join(t.Files, "overwrite")) }},
	{"truncate it", func(t targets) error { return os.Truncate(filepath.Join(t.Files, "truncate"), 0) }},
	{"create a file there", func(t targets) error { return overwrite(filepath.Join(t.Files, "created")) }},
	{"remove one", func(t targets) error { return os.Remove(filepath.Join(t.Files, "remove")) }},
	{"move one into the workspace", moveHere},
	{"link one into the workspace", linkHere},
	{"change its mode", func(t targets) error { return os.Chmod(filepath.Join(t.Files, "mode"), 0o777) }},
	{"change its times", func(t targets) error {
		return os.Chtimes(filepath.Join(t.Files, "times"), time.Unix(1, 0), time.Unix(1, 0))
	}},

	{"the engine's socket", func(t targets) error { return askEngine(t.Docker) }},
	{"the control socket of the session", func(t targets) error { return reach("unix", t.Sockets[0]) }},
	{"the control socket of another session", func(t targets) error { return reach("unix", t.Sockets[1]) }},
	{"the socket for calls of another session", func(t targets) error { return reach("unix", t.Sockets[2]) }},
	{"the systemd of the login session (`systemd-run --user`)", func(t targets) error { return reach("unix", t.Bus) }},
	{"an abstract socket", func(t targets) error { return reach("unix", "@"+t.Abstract) }},
	{"the token of the page", func(t targets) error { _, err := os.ReadFile(t.Token); return err }},
	{"the page", func(t targets) error { return reach("tcp", t.Page) }},
	{"a server by TCP", func(t targets) error { return anyAnswers("tcp", t) }},
	{"a server by UDP", func(t targets) error { return anyAnswers("udp", t) }},

	{"signal the watcher", func(t targets) error { return unix.Kill(t.Watcher, unix.SIGCONT) }},
	{"trace the watcher (ptrace)", func(t targets) error { return trace(t.Watcher) }},
	{"read the watcher's environment", func(t targets) error { _, err := os.ReadFile(procFile(t.Watcher, "environ")); return err }},
	{"read the environment of another process", func(t targets) error { return reads(t, procFile(t.Victim, "environ")) }},
	{"read its memory", readMemory},
	{"read a file by its descriptor", func(t targets) error { return reads(t, procFile(t.Victim, "fd/3")) }},
	{"take its descriptor (pidfd_getfd)", takeDescriptor},
	{"reach the home by its root", func(t targets) error { return reads(t, procFile(t.Victim, "root"+t.Files+"/read")) }},
	{"change its limits", func(t targets) error {
		return unix.Prlimit(t.Victim, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	}},
	{"kill it", func(t targets) error { return kill(t.Victim) }},

	{"gain privileges by a setuid program", setuid},
	{"create a namespace with all capabilities", userNamespace},
	{"read a key of the user's keyring", func(t targets) error { return searchKey(t.Secret) }},
	{"type into its terminal (TIOCSTI)", typeInto},
	{"leave a process that outlives the call", leave},
}

// reads returns an error unless the file has the secret.
func reads(t targets, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return has(text, t.Secret)
}

func readByLink(t targets) error {
	os.Remove("link")
	if err := os.Symlink(filepath.Join(t.Files, "read"), "link"); err != nil {
		return err
	}
	return reads(t, "link")
}

func moveHere(t targets) error {
	os.Remove("moved")
	return os.Rename(filepath.Join(t.Files, "move"), "moved")
}

func linkHere(t targets) error {
	os.Remove("linked")
	return os.Link(filepath.Join(t.Files, "link"), "linked")
}

func overwrite(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("hostile")
	return errors.Join(err, f.Close())
}

func procFile(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
