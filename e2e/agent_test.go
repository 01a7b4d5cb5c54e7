// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modes are where an agent runs.
var modes = []string{"process", "container"}

// agentArgs are docker's arguments for an agent in that mode, of the image of that name where
// it is a container, with flags.
func agentArgs(t testing.TB, mode, img string, flags ...string) []string {
	t.Helper()
	args := []string{"hostexec", "agent", "--mode", mode}
	if mode == "container" {
		args = append(args, "--image", image(t, img), "--label", runLabel, "--network", "none")
		if !slices.Contains(flags, "--config") {
			args = append(args, "--config", patientAgent(t))
		}
	}
	return append(args, flags...)
}

// patientAgent is a file that gives an agent's container as long to start as anything else may take: an
// engine that is busy with other tests may need more than the default.
func patientAgent(t testing.TB) string {
	t.Helper()
	dir, err := base()
	check(t, err)
	based.Store(true)
	file := filepath.Join(dir, "patient.yaml")
	text := fmt.Sprintf("agent: {container: {startup_timeout_seconds: %d}}\n", int(patience.Seconds()))
	check(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// echo is the command of the JSON-RPC agent in that mode.
func echo(t testing.TB, mode string) []string {
	t.Helper()
	if mode == "container" {
		return []string{"--", "/probe", "agent"}
	}
	return []string{"--", probePath(t), "agent"}
}

// eachMode runs f for each person and mode, beside one another: nobody else knows of those people.
func eachMode(t *testing.T, f func(t *testing.T, h *Host, mode string)) {
	for _, shared := range dockerUsers(t) {
		for _, mode := range modes {
			t.Run(shared.Name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				h := newHost(t, shared.cred != nil)
				f(t, h, mode)
				h.agentless(t)
			})
		}
	}
}

// agentless wants nothing of an agent to be left but its workspace.
func (h *Host) agentless(t testing.TB) {
	t.Helper()
	h.quiet(t, patience)
	want(t, "containers", h.agents(t), "")
}

// agents lists the containers of the host's agents.
func (h *Host) agents(t testing.TB) string {
	t.Helper()
	var mine []string
	for line := range strings.Lines(h.Must(t, "ps", "-aq", "--no-trunc", "--filter", "name=hostexec-agent-", "--filter", "label="+runLabel)) {
		id := strings.TrimSpace(line)
		if strings.Contains(h.Docker(t, "inspect", "--format", "{{.Mounts}}", id).Out, h.State) {
			mine = append(mine, id)
		}
	}
	return strings.Join(mine, " ")
}

// Agent starts an agent, to which the test then talks.
func (h *Host) Agent(t testing.TB, args ...string) *Call {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := h.Command(ctx, "docker", args...)
	call := &Call{lines: make(chan string, 4096), end: make(chan int, 1)}
	cmd.Stderr = &call.errs
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	call.In, call.PID = in, cmd.Process.Pid
	done := make(chan struct{})
	// ends with the agent; the cleanup waits for it.
	go func() { defer close(done); call.follow(cmd, out) }()
	t.Cleanup(func() { in.Close(); cancel(); <-done })
	return call
}

// ask sends one request to an agent and returns its answer.
func (call *Call) ask(t testing.TB, method, params string) string {
	t.Helper()
	call.write(t, method, params)
	return call.Line(t)
}

// write sends one request to an agent.
func (call *Call) write(t testing.TB, method, params string) {
	t.Helper()
	_, err := fmt.Fprintf(call.In, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, params)
	check(t, err)
}

// answered is the answer of the echo agent with that result.
func answered(result string) string { return `{"jsonrpc":"2.0","id":1,"result":` + result + `}` }

// session returns the one session of the host's.
func (h *Host) session(t testing.TB) string {
	t.Helper()
	all := h.Sessions(t)
	if len(all) != 1 {
		t.Fatalf("sessions %q, want one", all)
	}
	return filepath.Base(all[0])
}

// conversation contains client messages in every form that has broken a bridge: long lines,
// escapes, an empty message, stderr between messages, a notification.
func conversation() string {
	long := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB in one line
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}` + "\n" +
		`{"jsonrpc":"2.0","id":"a","method":"say","params":{"text":"häß \u0000 \ud83d\ude00 <&> \r\n"}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"log","params":"on stderr"}` + "\n" +
		`{"jsonrpc":"2.0","method":"note","params":[1,2.5,null]}` + "\r\n" +
		`{"jsonrpc":"2.0","id":3,"method":"say","params":"` + long + `"}` + "\n" +
		`{"jsonrpc":"2.0","id":4,"method":"log","params":["more"]}` + "\n"
}

// TestIntegrationAgentModes runs the same conversation in both modes. The client must get the same bytes.
func TestIntegrationAgentModes(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			got := map[string]Result{}
			for _, mode := range modes {
				got[mode] = h.feed(t, conversation(), "docker", agentArgs(t, mode, "empty", echo(t, mode)...)...)
			}
			want(t, "lines", strings.Count(got["process"].Out, "\n"), 6)
			want(t, "stderr", got["process"].Err, "\"on stderr\"\n[\"more\"]\n")
			want(t, "code", got["process"].Code, 0)
			if got["process"] != got["container"] {
				t.Errorf("as a process: %v\nin a container: %v", got["process"], got["container"])
			}
		})
	}
}

// TestIntegrationAgentEnds ends an agent's stdin, its stdout, and itself.
func TestIntegrationAgentEnds(t *testing.T) {
	eachMode(t, func(t *testing.T, h *Host, mode string) {
		for code := range map[int]bool{0: true, 3: true, 125: true, 255: true} {
			a := h.Agent(t, agentArgs(t, mode, "empty", echo(t, mode)...)...)
			want(t, "answer", a.ask(t, "say", `"x"`), answered(`"x"`))
			fmt.Fprintf(a.In, `{"jsonrpc":"2.0","method":"exit","params":%d}`+"\n", code)
			want(t, "code", a.Ended(t).Code, code)
		}
		r := h.feed(t, "", "docker", agentArgs(t, mode, "empty", echo(t, mode)...)...)
		want(t, "nothing said", r, Result{})
		r = h.Docker(t, agentArgs(t, mode, "busybox", "--", "/bin/sh", "-c", "kill -9 $$; sleep 1")...)
		want(t, "code of one that was killed", r.Code, map[string]int{"process": 137, "container": 0}[mode]) // pid 1 is immune to itself
	})
}

// TestIntegrationAgentHandshake checks that initialize and session/new precede the client's input.
func TestIntegrationAgentHandshake(t *testing.T) {
	eachMode(t, func(t *testing.T, h *Host, mode string) {
		flags := append([]string{"--handshake", "--"}, "cat")
		r := h.feed(t, "{}\n", "docker", agentArgs(t, mode, "busybox", flags...)...)
		cwd := map[string]string{"process": h.Work, "container": "/workspace"}[mode]
		want(t, "stdout", r.Out, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientCapabilities":{},"protocolVersion":1}}`+"\n"+
			`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"`+cwd+`","mcpServers":[]}}`+"\n{}\n")
		want(t, "without it", h.feed(t, "{}\n", "docker", agentArgs(t, mode, "busybox", "--", "cat")...).Out, "{}\n")
	})
}

// TestIntegrationAgentBulk sends a gibibyte through an agent, both ways at once.
func TestIntegrationAgentBulk(t *testing.T) {
	const gib = "1073741824"
	h := dockerUsers(t)[0]
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			args := append([]string{"docker"}, agentArgs(t, mode, "busybox", "--", "cat")...)
			script := `"$0" gen ` + gib + ` | "$@" | "$0" count`
			r := h.feedFor(t, 8*patience, "", "bash", append([]string{"-c", script, probePath(t)}, args...)...)
			want(t, "counted", r, Result{Out: gib + "\n"})
		})
	}
}
