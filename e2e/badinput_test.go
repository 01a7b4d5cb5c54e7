// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// badInput is a run that has to fail. In args {IMAGE} stands for an image, {STATE},
// {HOME} and {WORK} for the person's directories.
type badInput struct {
	name string
	args string // separated by spaces; '' is an empty one
	says string // regexp for the first line of stderr
	code int
	bare bool // docker's own error, in its own words and lines
}

var badInputs = []badInput{
	{name: "no image", args: "--proxy true", says: `requires at least 1 argument`, code: 1, bare: true},
	{name: "no image, no flag", args: "", says: `requires at least 1 argument`, code: 1, bare: true},
	{name: "an unknown flag", args: "--nonsense {IMAGE}", says: `unknown flag: --nonsense`, code: 125, bare: true},
	{name: "a flag without its value", args: "--proxy", says: `flag needs an argument: --proxy`, code: 125, bare: true},
	{name: "image missing", args: "--proxy true --pull never nosuchimage:nosuchtag", says: `(?i)no such image`, code: 125, bare: true},
	{name: "image and its registry missing", args: "--proxy true 127.0.0.1:1/nosuchimage", says: `Unable to find image`, code: 125, bare: true},

	{name: "an empty command", args: "--proxy '' {IMAGE}", says: `--proxy "": no command named`},
	{name: "an empty command with a value", args: "--proxy =deny {IMAGE}", says: `--proxy =deny: no command named`},
	{name: "a command that climbs", args: "--proxy ../x {IMAGE}", says: `--proxy \.\./x: `},
	{name: "a command with a slash", args: "--proxy a/b {IMAGE}", says: `--proxy a/b: `},
	{name: "a command like a flag", args: "--proxy -x {IMAGE}", says: `--proxy -x: `},
	{name: "a control sequence", args: "--proxy a\x1b[2J {IMAGE}", says: `--proxy "a\\x1b\[2J": `},
	{name: "a command called hostexec", args: "--proxy hostexec {IMAGE}", says: `--proxy hostexec: `},
	{name: "a name too long", args: "--proxy " + strings.Repeat("x", 65) + " {IMAGE}", says: `--proxy x+: `},
	{name: "a value that is none", args: "--proxy x=bogus {IMAGE}", says: `--proxy x=bogus: must be allow, ask, deny or an absolute path: bogus$`},
	{name: "a relative path", args: "--proxy x=./make {IMAGE}", says: `--proxy x=\./make: .*absolute`},
	{name: "an unknown option", args: "--proxy true,when=never {IMAGE}", says: `--proxy true,when=never: unknown option when`},
	{name: "given twice", args: "--proxy true --proxy true=deny {IMAGE}", says: `--proxy true=deny: given twice`},
	{name: "not in PATH", args: "--proxy foo {IMAGE}", says: `command 'foo' not found in PATH$`},
	{name: "one of two not in PATH", args: "--proxy true --proxy foo {IMAGE}", says: `command 'foo' not found in PATH$`},
	{name: "not at its path", args: "--proxy foo=/no/such/foo {IMAGE}", says: `command foo: .*/no/such/foo`},
	{name: "a directory", args: "--proxy foo=/etc {IMAGE}", says: `command foo: .*/etc`},
	{name: "not executable", args: "--proxy foo=/etc/passwd {IMAGE}", says: `command foo: .*/etc/passwd`},

	{name: "no carrier", args: "--carrier pigeon --proxy true {IMAGE}", says: `--carrier pigeon: there are auto, socket, relay and files`},
	{name: "no workspace", args: "--workspace=/no/such/dir --proxy true {IMAGE}", says: `--workspace: /no/such/dir: no such file`},
	{name: "a file as workspace", args: "--workspace=/etc/passwd --proxy true {IMAGE}", says: `--workspace: /etc/passwd is not a directory`},
	{name: "no host directory", args: "--workdir-host /no/such/dir --proxy true {IMAGE}", says: `--workdir-host: /no/such/dir: no such file`},
	{name: "an empty workspace", args: "--workspace= --proxy true {IMAGE}", says: `--workspace: no directory named`},
	{name: "an empty host directory", args: "--workdir-host '' --proxy true {IMAGE}", says: `--workdir-host: no directory named`},
	{name: "a value to pass", args: "--pass-env A=b --proxy true {IMAGE}", says: `--pass-env A=b: give the name only`},
	{name: "a variable of ours", args: "--pass-env HOSTEXEC_DIR --proxy true {IMAGE}", says: `--pass-env HOSTEXEC_DIR: `},

	{name: "a bind in the way", args: "-v {WORK}:/run/hostexec --proxy true {IMAGE}", says: `mount at /run/hostexec is in the way`},
	{name: "a mount in the way", args: "--mount type=bind,source={WORK},target=/run/hostexec --proxy true {IMAGE}", says: `mount at /run/hostexec is in the way`},
	{name: "a volume in the way", args: "-v /run/hostexec --proxy true {IMAGE}", says: `mount at /run/hostexec is in the way`},
	{name: "a tmpfs inside", args: "--tmpfs /run/hostexec/bin --proxy true {IMAGE}", says: `mount at /run/hostexec/bin is in the way`},
	{name: "a roundabout way", args: "-v {WORK}:/run/../run/hostexec/ --proxy true {IMAGE}", says: `mount at /run/hostexec is in the way`},

	{name: "the state in the container", args: "-v {STATE}:/x --proxy true {IMAGE}", says: `mount of \S+ covers hostexec's own state`},
	{name: "the state, read-only", args: "-v {STATE}:/x:ro --proxy true {IMAGE}", says: `mount of \S+ covers hostexec's own state`},
	{name: "the sessions", args: "-v {STATE}/sessions:/x --proxy true {IMAGE}", says: `mount of \S+ covers hostexec's own state`},
	{name: "what the state is in", args: "-v {HOME}:/x --proxy true {IMAGE}", says: `mount of \S+ covers hostexec's own state`},
	{name: "a link to the state", args: "--mount type=bind,source={WORK}/link,target=/x --proxy true {IMAGE}", says: `mount of \S+ covers hostexec's own state`},
	{name: "the whole host", args: "-v /:/x:ro --proxy true {IMAGE}", says: `mount of / covers hostexec's own state`},
	{name: "the state as workspace", args: "--workspace={HOME} --proxy true {IMAGE}", says: `mount of \S+ covers hostexec's own state`},
	{name: "a program that the container can change", args: "-v {WORK}:/w --proxy tool={WORK}/tool {IMAGE}", says: `could change \S+/tool, which --proxy tool runs`},
	{name: "a link to such a program", args: "-v {WORK}:/w --proxy tool={HOME}/tool {IMAGE}", says: `could change \S+/tool, which --proxy tool runs`},
}

// TestIntegrationBadInput checks that each wrong use of run prints one line that names the fault,
// and leaves nothing behind.
//
// Attack 119.
func TestIntegrationBadInput(t *testing.T) {
	t.Parallel() // most of it is waiting
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		h.Write(t, h.Work, "tool", "#!/bin/sh\n", 0o755)
		check(t, os.Symlink(h.State, filepath.Join(h.Work, "link")))
		check(t, os.Symlink(filepath.Join(h.Work, "tool"), filepath.Join(h.Home, "tool")))
		for _, bad := range badInputs {
			t.Run(h.Name+"/"+bad.name, func(t *testing.T) { h.refuses(t, bad) })
		}
	}
}

// userKinds are the kinds of person that newHost can make here.
func userKinds() []bool {
	if os.Getuid() != 0 {
		return []bool{false}
	}
	return []bool{false, true}
}

// refuses runs bad, which has to fail as it says and to leave nothing.
func (h *Host) refuses(t *testing.T, bad badInput) {
	t.Helper()
	mark := "io.hostexec.e2e.bad=" + filepath.Base(h.Home)
	fill := strings.NewReplacer("{IMAGE}", image(t, "busybox"), "{STATE}", h.State, "{HOME}", h.Home, "{WORK}", h.Work, "''", "")
	args := []string{"--label", mark}
	for _, a := range strings.Fields(bad.args) {
		args = append(args, fill.Replace(a))
	}
	r := h.Run(t, args...)
	code := bad.code
	if !bad.bare {
		code = 125
	}
	want(t, "code", r.Code, code)
	want(t, "stdout", r.Out, "")
	lines := strings.Split(strings.TrimRight(r.Err, "\n"), "\n")
	if !regexp.MustCompile(bad.says).MatchString(lines[0]) {
		t.Errorf("it says %q, want %s", r.Err, bad.says)
	}
	for i, line := range lines {
		switch {
		case bad.bare:
		case !strings.HasPrefix(line, "hostexec: "):
			t.Errorf("line %q is not ours", line)
		case i > 0 && !strings.HasPrefix(line, "hostexec: hint: "):
			t.Errorf("more than one line and a hint: %q", r.Err)
		case strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c > '~' }):
			t.Errorf("not printable ASCII: %q", line)
		}
	}
	want(t, "containers left", h.Must(t, "ps", "-aq", "--filter", "label="+mark), "")
	h.quiet(t, soon)
}

// TestIntegrationMountNextToState mounts directories as close to the state as is permitted.
func TestIntegrationMountNextToState(t *testing.T) {
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		h.Write(t, h.Work, "tool", "#!/bin/sh\necho tool\n", 0o755)
		h.mkdir(t, h.State+"-2")
		r := h.Run(t, "--rm", "-v", h.Work+":/w:ro", "-v", h.State+"-2:/x", "-w", "/w", "--proxy", "tool="+h.Work+"/tool", image(t, "busybox"), "tool")
		want(t, "a program below a read-only mount", r.String(), Result{Out: "tool\n"}.String())
		h.quiet(t, soon)
	}
}

// TestIntegrationEngineDown runs without an engine. The error is docker's.
func TestIntegrationEngineDown(t *testing.T) {
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		dead := filepath.Join(h.Home, "dead.sock")
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
		check(t, err)
		l.SetUnlinkOnClose(false)
		check(t, l.Close())
		check(t, os.Chmod(dead, 0o666))
		ref := image(t, "busybox")
		for _, socket := range []string{dead, filepath.Join(h.Home, "none.sock")} {
			h.Env = []string{"DOCKER_HOST=unix://" + socket}
			docker, ours := h.Docker(t, "run", "--rm", ref), h.Docker(t, "hostexec", "run", "--rm", "--proxy", "true", ref)
			want(t, "code", ours.Code, 125)
			want(t, "what it says", ours.String(), docker.String())
			h.quiet(t, soon)
		}
	}
}

// TestIntegrationStateDirectory uses state directories that cannot work, or only with restrictions.
//
// Attack 126.
func TestIntegrationStateDirectory(t *testing.T) {
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		t.Run(h.Name+"/a very long path", func(t *testing.T) { longState(t, h) })
		t.Run(h.Name+"/a file in the way", func(t *testing.T) {
			h.State = filepath.Join(h.Write(t, h.Home, "file", "", 0o644), "state")
			h.refuses(t, badInput{args: proxied, says: `make state directory: .*not a directory \(set HOSTEXEC_HOME`})
		})
		t.Run(h.Name+"/open to others", func(t *testing.T) {
			h.State = h.Work
			h.refuses(t, badInput{args: proxied, says: `state directory \S+ may be written by others: chmod 700 `})
		})
		t.Run(h.Name+"/not to be made", func(t *testing.T) {
			h.State = "/proc/state"
			h.refuses(t, badInput{args: proxied, says: `make state directory: .*\(set HOSTEXEC_HOME`})
		})
	}
}

const proxied = "--proxy true {IMAGE}"

// TestIntegrationStateNoExec puts the state directory on a file system mounted noexec. Only root can mount one.
func TestIntegrationStateNoExec(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("a noexec file system can only be mounted by root: run the integration tests as root, or leave this one out by name")
	}
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		h.State = h.noexec(t)
		h.refuses(t, badInput{args: proxied, says: `state directory \S+ is on a file system mounted noexec`})
	}
}

// TestIntegrationStateLocked puts the state directory where an ordinary user cannot write.
func TestIntegrationStateLocked(t *testing.T) {
	h := newHost(t, os.Getuid() == 0)
	h.State = filepath.Join(h.Home, "locked")
	h.mkdir(t, h.State)
	check(t, os.Chmod(h.State, 0o500))
	h.refuses(t, badInput{args: proxied, says: `make state directory: .*permission denied \(set HOSTEXEC_HOME`})
	h.State = "/usr/lib"
	h.refuses(t, badInput{args: proxied, says: `make state directory: .*permission denied \(set HOSTEXEC_HOME`})
}

// noexec returns a directory of the person's on such a file system.
func (h *Host) noexec(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(h.Home, "noexec")
	h.mkdir(t, dir)
	check(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOEXEC, ""))
	t.Cleanup(func() { check(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	state := filepath.Join(dir, "state")
	h.mkdir(t, state)
	return state
}

// longState has the state where no socket's address reaches. All works there.
func longState(t *testing.T, h *Host) {
	t.Helper()
	h.State = filepath.Join(h.Home, strings.Repeat("long/", 30)+strings.Repeat("longer", 20))
	if len(h.State) < 250 {
		t.Fatalf("%s is too short", h.State)
	}
	dir := h.Home
	for _, part := range strings.Split(strings.TrimPrefix(h.State, h.Home+"/"), "/") {
		dir = filepath.Join(dir, part)
		h.mkdir(t, dir)
	}
	c := h.Holding(t, proxies(t)...)
	want(t, "a call", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	want(t, "status", h.Must(t, "hostexec", "status", "-q"), c.Session+"\n")
	h.Must(t, "hostexec", "stop", c.Session)
	h.Must(t, "hostexec", "resume", c.Session)
	want(t, "a call after resume", c.Exec(t, "hsh", "-c", "echo called").Out, "called\n")
	h.Must(t, "rm", "-f", c.ID)
	h.quiet(t, soon)
}
