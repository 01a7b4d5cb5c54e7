// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// filesContainer is a container that calls by the files carrier.
func filesContainer(t *testing.T, h *Host, flags ...string) *Container {
	t.Helper()
	return h.Holding(t, append(append(proxies(t), "--carrier", "files", "--proxy", "banned=deny", "--network", "none"), flags...)...)
}

// TestIntegrationCarrierFiles makes calls from a container by files: all behaviours of the socket,
// except those that docs/files.md excludes.
func TestIntegrationCarrierFiles(t *testing.T) {
	for _, ordinary := range userKinds() {
		h := newHost(t, ordinary)
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			shared := filesContainer(t, h, "--pass-env", "CI")
			check(t, os.MkdirAll(filepath.Join(h.Work, "sub"), 0o755))
			for _, user := range []string{"0", "1000", "65534"} {
				t.Run("uid"+user, func(t *testing.T) { callByFiles(t, h, shared.As(user)) })
			}
			row := h.Must(t, "hostexec", "status", "--format", "{{.Carrier}} {{.State}}")
			want(t, "status", row, "files running\n")
			h.Must(t, "rm", "-f", shared.ID)
			h.quiet(t, leaves+grace)
		})
	}
}

func callByFiles(t *testing.T, h *Host, c *Container) {
	for _, tt := range []struct {
		name, script string
		want         Result
	}{
		{"by its name", "htrue", Result{}},
		{"by hostexec", "hostexec hsh -c 'exit 42'", Result{Code: 42}},
		{"streams", "hsh -c 'echo out; echo err >&2; exit 3'", Result{Out: "out\n", Err: "err\n", Code: 3}},
		{"arguments", `hp print "" "a b" "$(printf 'c\nd')" ü`, Result{Out: "\na b\nc\nd\nü\n"}},
		{"where", "cd sub; hsh -c pwd", Result{Out: h.Work + "/sub\n"}},
		{"stdin", "printf 'one\ntwo\n' | hcat", Result{Out: "one\ntwo\n"}},
		{"a variable", "CI=yes X=no hsh -c 'echo $CI.$X.$HOST_SECRET'", Result{Out: "yes..of the host\n"}},
		{"a pipeline", "hsh -c 'seq 100000' | hcat | tail -1", Result{Out: "100000\n"}},
		{"not proxied", "hostexec nonesuch 2>/dev/null", Result{Code: 127}},
		{"denied", "hostexec banned 2>/dev/null", Result{Code: 126}},
		{"elsewhere", "cd /; htrue 2>/dev/null", Result{Code: 126}},
		{"a signal", "bash -c 'hsh -c \"kill -TERM \\$\\$\"; echo $?' 2>/dev/null", Result{Out: "143\n"}},
		{"a login shell", "bash -lc 'cd /w; hsh -c \"exit 5\"'", Result{Code: 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want(t, tt.script, c.Sh(t, tt.script).String(), tt.want.String())
		})
	}
	t.Run("verbs", func(t *testing.T) {
		if r := c.Sh(t, "hostexec ls"); r.Code != 0 || !strings.Contains(r.Out, "htrue") {
			t.Errorf("hostexec ls: %v", r)
		}
		if r := c.Sh(t, "hostexec -d hsh -c 'echo job'"); r.Code != 0 || len(strings.Fields(r.Out)) != 2 {
			t.Errorf("hostexec -d: %v", r)
		} else {
			want(t, "its log", c.Sh(t, "hostexec logs -f $1", strings.Fields(r.Out)[0]).Out, "job\n")
		}
	})
	t.Run("at once", func(t *testing.T) {
		var wg sync.WaitGroup
		results := make([]Result, 5)
		for i := range results {
			// ends with its call.
			wg.Go(func() { results[i] = c.Sh(t, "hsh -c 'echo $1; exit $1' sh $1", strconv.Itoa(i)) })
		}
		wg.Wait()
		for i, r := range results {
			want(t, "a call among others", r.String(), Result{Out: strconv.Itoa(i) + "\n", Code: i}.String())
		}
	})
	want(t, "files left", c.Sh(t, "cd /run/hostexec/proxy/hsh && echo *").Out, "*\n")
}

// TestIntegrationCarrierFilesAttack creates links and other files in the request directory that lead out of it.
//
// Attacks 1, 14, 16, 22.
func TestIntegrationCarrierFilesAttack(t *testing.T) {
	h := newHost(t, false)
	canary := h.Write(t, h.Home, "canary", "secret of the host", 0o600)
	c := filesContainer(t, h)
	for _, script := range []string{
		"ln -s " + canary + " /run/hostexec/proxy/hsh/x.req",
		"ln -s " + canary + " /run/hostexec/proxy/hsh/y.stdout; printf 'a\\0' >/run/hostexec/proxy/hsh/y.req",
		"mknod /run/hostexec/proxy/hsh/z.req c 1 5; mkfifo /run/hostexec/proxy/hsh/f.req",
	} {
		want(t, script, c.Sh(t, script).Code, 0)
		want(t, "the next call", c.Sh(t, "hsh -c 'echo good'").String(), Result{Out: "good\n"}.String())
	}
	// The directory itself is exchanged: the container has harmed itself and nobody else.
	want(t, "exchange", c.Sh(t, "cd /run/hostexec/proxy && mv hsh old && ln -s /etc hsh && printf 'evil\\0' >/etc/x.req").Code, 0)
	want(t, "another command", c.Sh(t, "hcat </dev/null").String(), Result{}.String())
	want(t, "the file outside", string(readFile(t, canary)), "secret of the host")
	for _, name := range []string{"bin/hsh", "bin/hostexec", "carrier"} {
		if r := c.Sh(t, "echo evil >/run/hostexec/"+name); r.Code == 0 {
			t.Errorf("the container can write %s", name)
		}
	}
}

// TestIntegrationCarrierFilesEnd checks the messages of calls that nobody answers.
func TestIntegrationCarrierFilesEnd(t *testing.T) {
	h := newHost(t, false)
	c := filesContainer(t, h)
	h.Must(t, "hostexec", "stop", c.Session)
	r := c.Sh(t, "htrue")
	if r.Code != 125 || !strings.Contains(r.Err, "docker hostexec resume") {
		t.Errorf("a call of nobody: %v", r)
	}
	h.Must(t, "hostexec", "resume", c.Session)
	want(t, "a call after resume", c.Sh(t, "hsh -c 'echo again'").String(), Result{Out: "again\n"}.String())
}

// TestIntegrationCarrierFilesSource calls from a container with the client script of the original description.
func TestIntegrationCarrierFilesSource(t *testing.T) {
	h := newHost(t, false)
	h.Write(t, h.Work, "source", strings.ReplaceAll(string(readFile(t, "testdata/source000.sh")), "@DIR@", "/run/hostexec/proxy/hsh"), 0o755)
	c := filesContainer(t, h)
	for _, user := range []string{"0", "1000", "65534"} {
		r := c.As(user).Sh(t, "/w/source -c 'pwd; echo err >&2; exit 42'")
		want(t, "uid "+user, r.String(), Result{Out: h.Work + "\n", Err: "err\n", Code: 42}.String())
	}
}

// TestIntegrationCarrierFilesScratch calls by files from an image that has nothing: no shell,
// no program but one that the test does not call.
func TestIntegrationCarrierFilesScratch(t *testing.T) {
	h := newHost(t, false)
	call := func(program string, args ...string) Result {
		flags := []string{"--rm", "-v", h.Work + ":/w", "-w", "/w", "--network", "none", "--carrier", "files", "--proxy", "hsh=/bin/sh", "--entrypoint", program, image(t, "empty")}
		return h.Run(t, append(flags, args...)...)
	}
	script := []string{"-c", "pwd; echo err >&2; exit 42"}
	answer := Result{Out: h.Work + "\n", Err: "err\n", Code: 42}.String()
	want(t, "by its name", call("hsh", script...).String(), answer)
	want(t, "by hostexec", call("/run/hostexec/bin/hostexec", append([]string{"hsh"}, script...)...).String(), answer)
}

// TestIntegrationCarrierFilesScript calls by the client for a shell, which has its place beside
// the shims.
func TestIntegrationCarrierFilesScript(t *testing.T) {
	h := newHost(t, false)
	c := filesContainer(t, h, "--pass-env", "CI")
	for _, tt := range []struct {
		script string
		want   Result
	}{
		{"CI=yes hsh -c 'echo $CI; echo err >&2; exit 3'", Result{Out: "yes\n", Err: "err\n", Code: 3}},
		{"seq 100000 | hcat | tail -1", Result{Out: "100000\n"}},
		{"hostexec hsh -c 'exit 42'", Result{Code: 42}},
	} {
		want(t, tt.script, c.Sh(t, "PATH=/run/hostexec/sh:$PATH; "+tt.script).String(), tt.want.String())
	}
	want(t, "what it is", c.Sh(t, "head -c 9 /run/hostexec/sh/hsh").Out, "#!/bin/sh")
	w := h.Watcher(t, c.Session)
	w.Signal(t, syscall.SIGSTOP)
	for _, client := range []string{"sh", "bin"} {
		for _, call := range []string{
			"HOSTEXEC_TIMEOUT=1 hostexec hsh -c :", "hostexec --timeout 1s hsh -c :", "HOSTEXEC_TIMEOUT=1h hostexec --env CI=1 --timeout=1 hsh -c :",
		} {
			want(t, client+": "+call, c.Sh(t, "PATH=/run/hostexec/"+client+":$PATH; "+call).Code, 124)
		}
	}
	w.Signal(t, syscall.SIGCONT)
	for _, client := range []string{"sh", "bin"} {
		r := c.Sh(t, "PATH=/run/hostexec/"+client+":$PATH"+`
			(HOSTEXEC_TIMEOUT=1 hostexec --timeout 0 hsh -c 'sleep 7; echo no limit') &
			set -- $(hostexec -d hsh -c 'sleep 3; exit 7')
			HOSTEXEC_TIMEOUT=1 hostexec wait $1; echo $?; wait`)
		want(t, client, r.Out, "7\nno limit\n")
	}
	want(t, "a command's own --timeout", c.Sh(t, "PATH=/run/hostexec/sh:$PATH; hostexec hsh -c 'sleep 2; echo $2' x --timeout 1").Out, "1\n")
}

// TestIntegrationCarrierFilesKilled checks that a killed caller is noticed at once, not only after
// the 15 seconds without a heartbeat.
func TestIntegrationCarrierFilesKilled(t *testing.T) {
	c := filesContainer(t, newHost(t, false))
	call := c.Start(t, "hsh", "-c", "echo $$; exec sleep 1000")
	p := call.Host(t)
	call.Signal(t, "KILL")
	p.Ends(t, 12*time.Second) // it takes half of one
	call.Ended(t)
	eventually(t, patience, "nothing is left of it", func() bool { return c.Sh(t, "cd /run/hostexec/proxy/hsh && echo *").Out == "*\n" })
}
