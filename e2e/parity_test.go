// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestIntegrationParity runs every row of parityRows with docker run and with docker hostexec run.
// Exit code, stdout, stderr and files must be equal, and the created containers too, except for the
// additions that design.md lists.
func TestIntegrationParity(t *testing.T) {
	p := newParity(t)
	two := make(chan struct{}, 2) // the machine has other things to do
	for _, row := range parityRows {
		t.Run(strings.TrimSpace(row.flags+" "+strings.Join(row.args, " ")+" "+row.script), func(t *testing.T) {
			t.Parallel()
			two <- struct{}{}
			defer func() { <-two }()
			p.compare(t, row)
		})
	}
}

// TestIntegrationParityComplete fails for a flag of docker run that no row has and that is
// no known exception: docker may grow one.
func TestIntegrationParityComplete(t *testing.T) {
	known := helpFlags(dockerUsers(t)[0].Must(t, "run", "--help"))
	used := map[string]bool{}
	for _, row := range parityRows {
		maps.Copy(used, row.uses(known))
	}
	for long := range known {
		switch why := parityExceptions[long]; {
		case used[long] && why != "":
			t.Errorf("--%s is in a row, and yet an exception: %s", long, why)
		case !used[long] && why == "":
			t.Errorf("--%s of docker run is in no row", long)
		}
	}
}

// TestIntegrationParityOfHelp checks that our help has the flags of docker run, and our own.
func TestIntegrationParityOfHelp(t *testing.T) {
	h := dockerUsers(t)[0]
	want, got := helpFlags(h.Must(t, "run", "--help")), helpFlags(h.Must(t, "hostexec", "run", "--help"))
	for _, ours := range []string{"proxy", "proxy-shell", "workspace", "workdir-host", "pass-env", "allow-new-privs", "carrier", "http", "cloister-compat"} {
		want[ours] = ""
	}
	if !maps.Equal(got, want) {
		t.Errorf("flags in the help are %v,\nwant %v", got, want)
	}
}

var helpFlag = regexp.MustCompile(`(?m)^ {2,6}(?:-(\w), )?--([a-z0-9-]+)\b`)

// helpFlags reads the flags that a help text lists: the long names, and their short ones.
func helpFlags(help string) map[string]string {
	flags := map[string]string{}
	for _, m := range helpFlag.FindAllStringSubmatch(help, -1) {
		flags[m[2]] = m[1]
	}
	return flags
}

// uses returns the long names of the flags that the row has.
func (r parityRow) uses(known map[string]string) map[string]bool {
	used := map[string]bool{}
	for _, word := range strings.Fields(r.flags) {
		name, _, _ := strings.Cut(word, "=")
		for long, short := range known {
			switch {
			case name == "--"+long:
				used[long] = true
			case short != "" && strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "--") && strings.Contains(name, short):
				used[long] = true
			}
		}
	}
	return used
}

// parity is what all rows have in common.
type parity struct {
	host   *Host
	common *strings.Replacer
	next   atomic.Int64
	known  map[string]string
}

func newParity(t *testing.T) *parity {
	h := newHost(t, false)
	t.Cleanup(func() { h.quiet(t, leaves+grace) })
	id := fmt.Sprintf("hostexec-e2e-parity-%d", os.Getpid())
	net := network(t, h, id)
	lent := filepath.Join(h.Home, "lent")
	h.mkdir(t, lent)
	h.Write(t, lent, "note", "lent\n", 0o644)
	h.Must(t, "run", "-d", "--name", id, "--label", runLabel, "--ipc", "shareable", "-v", lent+":/lent", image(t, "full"), "/probe", "hold")
	t.Cleanup(func() { h.Docker(t, "rm", "-f", "-v", id) })
	return &parity{
		host:  h,
		known: helpFlags(h.Must(t, "run", "--help")),
		common: strings.NewReplacer("{PEER}", id, "{NET}", id, "{IP}", net+"9", "{IMAGE}", image(t, "busybox"), "{_}", " ",
			"{ARCH}", runtime.GOARCH, "{DISK}", disk(t), "{REG}", registry(t)),
	}
}

// network makes a network that is removed at the end of the test, and returns the first part of its
// addresses. No other test run uses this part of the range for benchmarks.
func network(t *testing.T, h *Host, name string) string {
	t.Helper()
	var r Result
	for i := range 256 {
		begin := fmt.Sprintf("198.18.%d.", (os.Getpid()+i)%256)
		if r = h.Docker(t, "network", "create", "--subnet", begin+"0/24", "--label", runLabel, name); r.Code == 0 {
			t.Cleanup(func() { h.Docker(t, "network", "rm", name) })
			return begin
		}
		if !strings.Contains(r.Err, "overlaps") {
			break
		}
	}
	t.Fatalf("create a network: %v", r)
	return ""
}

// disk returns a block device of this host.
func disk(t testing.TB) string {
	t.Helper()
	disks, err := filepath.Glob("/sys/block/*")
	check(t, err)
	for _, d := range disks {
		if dev := "/dev/" + filepath.Base(d); exists(dev) {
			return dev
		}
	}
	t.Fatal("this host has no block device, which --device-read-bps and the like need")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// compare runs a row on both sides.
func (p *parity) compare(t *testing.T, row parityRow) {
	t.Helper()
	docker := p.side(t, row, "run")
	ours := p.side(t, row, "hostexec", "run", "--proxy", "true")
	if row.code != either {
		want(t, "code of docker run", docker.Code, row.code)
	}
	want(t, "code", ours.Code, docker.Code)
	for _, part := range []struct{ name, got, want string }{
		{"stdout", ours.Out, docker.Out}, {"stderr", ours.Err, docker.Err}, {"what it left", ours.left, docker.left},
	} {
		if part.got != part.want {
			t.Errorf("%s:\n%sof docker run:\n%s", part.name, lack(part.got, part.want), lack(part.want, part.got))
		}
	}
}

// lack returns the lines of text that are not in the other.
func lack(text, other string) string {
	var b strings.Builder
	there := strings.Split(other, "\n")
	for _, line := range strings.Split(text, "\n") {
		if !slices.Contains(there, line) {
			fmt.Fprintf(&b, "\t%q\n", line)
		}
	}
	return b.String()
}

// aside is what came of one side of a row, without what cannot be the same.
type aside struct {
	Result
	left string // container, log and files
}

func (p *parity) side(t *testing.T, row parityRow, verb ...string) aside {
	t.Helper()
	h := p.host
	name := fmt.Sprintf("hostexec-e2e-row-%d-%d", os.Getpid(), p.next.Add(1))
	dir := p.dir(t, name)
	fill := func(s string) string {
		return strings.NewReplacer("{NAME}", name, "{DIR}", dir).Replace(p.common.Replace(s))
	}
	args := append(verb, "--name", name, "--label", runLabel)
	for _, f := range slices.Concat(strings.Fields(row.flags), row.tail()) {
		args = append(args, fill(f))
	}
	if ref, ok := row.pulls(); ok {
		h.Docker(t, "rmi", "-f", fill(ref))
		defer h.Docker(t, "rmi", "-f", fill(ref))
	}
	defer h.Docker(t, "rm", "-f", "-v", name)
	mask := func(s string) string { return masked(strings.NewReplacer(dir, "DIR", name, "NAME").Replace(s)) }
	r := p.run(t, row, args)
	if row.uses(p.known)["detach"] && r.Code == 0 {
		h.Docker(t, "wait", name)
	}
	if strings.Contains(row.flags, "on-failure:1") { // docker run does not wait for the second life
		eventually(t, patience, "the container has had its second life", func() bool {
			return h.Must(t, "inspect", "--format", "{{.RestartCount}} {{.State.Status}}", name) == "1 exited\n"
		})
		r.Code = 0 // it says which life it met the end of: 3, or 0 where the second had begun
	}
	return aside{Result{mask(r.Out), mask(r.Err), r.Code}, mask(p.left(t, name, dir))}
}

// dir makes a host directory for one side.
func (p *parity) dir(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(p.host.Home, name)
	p.host.mkdir(t, dir)
	check(t, os.Chmod(dir, 0o777)) // containers write as any user
	for file, text := range map[string]string{"note": "a note\n", "env": "C=3\nHOST_SECRET\n# none\n", "labels": "d=e\nf\n"} {
		p.host.Write(t, dir, file, text, 0o644)
	}
	return dir
}

// tail is what follows the flags.
func (r parityRow) tail() []string {
	if r.args != nil {
		return r.args
	}
	return []string{"{IMAGE}", "sh", "-c", r.script}
}

// pulls names the image of the registry that the row needs.
func (r parityRow) pulls() (ref string, ok bool) {
	if len(r.args) == 0 {
		return "", false
	}
	return r.args[0], strings.HasPrefix(r.args[0], "{REG}/")
}

// run types it, in a terminal if the row says so, where our own notices may be read too.
func (p *parity) run(t *testing.T, row parityRow, args []string) Result {
	t.Helper()
	if !row.tty {
		return p.host.feed(t, row.stdin, "docker", args...)
	}
	m := p.host.term(t, append([]string{"docker"}, args...)...)
	code := m.Wait(t)
	lines := slices.DeleteFunc(strings.SplitAfter(m.seen, "\n"), func(l string) bool { return strings.HasPrefix(l, "hostexec: ") })
	return Result{Out: strings.Join(lines, ""), Code: code}
}

// left describes what a side left: the container's settings, its log, and the files.
func (p *parity) left(t *testing.T, name, dir string) string {
	t.Helper()
	var b strings.Builder
	r := p.host.Docker(t, "inspect", "--type", "container", name)
	if r.Code == 0 {
		b.WriteString(settings(t, r.Out))
		logs := p.host.Docker(t, "logs", name)
		fmt.Fprintf(&b, "log %q %q\n", logs.Out, logs.Err)
	}
	files, err := os.ReadDir(dir)
	check(t, err)
	for _, f := range files {
		fmt.Fprintf(&b, "%s: %q\n", f.Name(), readFile(t, filepath.Join(dir, f.Name())))
	}
	return b.String()
}

// settings returns the settings that docker inspect shows, one per line, without the product's
// additions: the share, PATH, labels.
func settings(t *testing.T, inspect string) string {
	t.Helper()
	var all []struct {
		Config, HostConfig map[string]any
		NetworkSettings    struct{ Networks map[string]map[string]any }
	}
	check(t, json.Unmarshal([]byte(inspect), &all))
	c := all[0]
	for name := range asMap(c.Config["Labels"]) {
		if strings.HasPrefix(name, "io.hostexec.") && !strings.HasPrefix(runLabel, name) {
			delete(asMap(c.Config["Labels"]), name)
		}
	}
	c.Config["Env"] = sorted(c.Config["Env"])
	mounts, _ := c.HostConfig["Mounts"].([]any)
	mounts = slices.DeleteFunc(mounts, func(m any) bool {
		target, _ := asMap(m)["Target"].(string)
		return target == "/run/hostexec" || target == "/run/hostexec/relay"
	})
	if c.HostConfig["Mounts"] = mounts; len(mounts) == 0 {
		delete(c.HostConfig, "Mounts")
	}
	var lines []string
	for section, settings := range map[string]map[string]any{"Config": c.Config, "HostConfig": c.HostConfig} {
		for k, v := range settings {
			lines = append(lines, line(t, section+"."+k, v))
		}
	}
	for name, n := range c.NetworkSettings.Networks {
		for _, k := range []string{"Aliases", "Links", "IPAMConfig", "NetworkID", "DriverOpts"} {
			lines = append(lines, line(t, name+"."+k, n[k]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func line(t *testing.T, name string, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	check(t, err)
	return fmt.Sprintf("%s = %s\n", name, b)
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }

func sorted(list any) any {
	items, _ := list.([]any)
	slices.SortFunc(items, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return items
}

var (
	longID   = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	shortID  = regexp.MustCompile(`\b[0-9a-f]{12}\b`)
	progress = regexp.MustCompile(`(?m)^[0-9a-f]{12}: .*\n`) // of a pull; a machine's own pace
)

// masked replaces in s the values that differ between runs, and the known exceptions: the command's
// name in usage texts, and the beginning of PATH.
func masked(s string) string {
	s = progress.ReplaceAllString(s, "")
	s = shortID.ReplaceAllString(longID.ReplaceAllString(s, "ID"), "SHORT-ID")
	return strings.NewReplacer("docker hostexec run", "docker run", "PATH=/run/hostexec/bin:", "PATH=").Replace(s)
}
