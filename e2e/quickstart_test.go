// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// quickstart is a user who follows docs/quickstart.md, with the agent of testdata/agent.sh.
type quickstart struct {
	*Host
	image string            // also the name of the volume
	local *strings.Replacer // replaces addresses and images of the page by local ones
}

// newQuickstart prepares a home, a project and programs for the commands of the page.
func newQuickstart(t *testing.T, ordinary bool) *quickstart {
	t.Helper()
	h := newHost(t, ordinary)
	example := filepath.Join(h.Home, "quickstart")
	check(t, os.CopyFS(example, os.DirFS("../examples/quickstart")))
	bin := filepath.Join(h.Home, "bin")
	h.mkdir(t, bin)
	h.Write(t, bin, "gh", "#!/bin/sh\necho \"gh of the host: $*\"\n", 0o755)
	h.Write(t, h.Work, "Makefile", "hello:\n\t@echo \"make of the host: $$(cat created)\"\n", 0o644)
	h.State = filepath.Join(h.Home, ".docker", "hostexec") // as the dev container has it
	h.Env = append(h.Env, "DOCKER_BUILDKIT=0", "PATH="+bin+":"+os.Getenv("PATH"))
	q := &quickstart{Host: h, image: unique(filepath.Base(h.Home))}
	base := image(t, "agents")
	q.local = strings.NewReplacer("my-agent", q.image, " --rm -it ", " --rm -it --label "+runLabel+" ", "KEY=sk-...", "KEY=sk-anthropic OPENAI_API_KEY=sk-openai",
		"docker build ", "docker build --build-arg NODE="+base+" --build-arg PYTHON="+base+" ", "https://github.com/docker-hostexec/hostexec.git#main:examples/quickstart", example,
		"https://raw.githubusercontent.com/docker-hostexec/hostexec/main/examples/quickstart", "file://"+example, `args: [`, `args: ["NODE=`+base+`", "PYTHON=`+base+`", `)
	t.Cleanup(func() {
		h.feed(t, "", "sh", "-c", "docker ps -aq --filter volume="+q.image+" | xargs -r docker rm -f") // only after a failure
		h.Docker(t, "volume", "rm", "-f", q.image)
		h.Docker(t, "rmi", "-f", q.image)
	})
	return q
}

// commands returns the commands of a section of docs/quickstart.md, except the first, which installs hostexec.
func (q *quickstart) commands(t *testing.T, section string) []string {
	t.Helper()
	_, text, _ := strings.Cut(string(readFile(t, "../docs/quickstart.md")), "\n## "+section+"\n")
	_, text, _ = strings.Cut(text, "```sh\n")
	text, _, ok := strings.Cut(text, "```\n")
	var all []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, q.local.Replace(strings.TrimSuffix(line, "\n")))
		}
	}
	if !ok || len(all) > 5 || len(all) == 0 || !strings.Contains(all[0], "/install.sh | sh") {
		t.Fatalf("docs/quickstart.md, %s, has the commands %q", section, all)
	}
	return all[1:]
}

// sh runs a command of the page, which must succeed.
func (q *quickstart) sh(t *testing.T, command string) {
	t.Helper()
	if r := q.feedFor(t, 4*patience, "", "sh", "-c", command); r.Code != 0 {
		t.Fatalf("%s: %v", command, r)
	}
}

// works approves the requests of an agent in the terminal m by answer, and checks the output of the agent and its file.
func (q *quickstart) works(t *testing.T, m *Term, agent, key string, answer func(call ...string)) {
	t.Helper()
	m.Expect(t, agent+" is agent in /home/agent with the key "+key+"\r\n")
	for _, call := range [][]string{{"git", "--version"}, {"gh", "auth", "status"}, {"make", "hello"}} {
		answer(call...)
	}
	for _, line := range []string{"git version ", "gh of the host: auth status\r\n", "make of the host: " + agent + "\r\n", "the work is done\r\n"} {
		m.Expect(t, line)
	}
	want(t, "code of "+agent, m.Wait(t), 0)
	fi, err := os.Stat(filepath.Join(q.Work, "created"))
	check(t, err)
	owner := os.Getuid()
	if q.cred != nil {
		owner = int(q.cred.Uid)
	}
	want(t, "the owner of the agent's file", int(fi.Sys().(*syscall.Stat_t).Uid), owner)
}

// watching runs pending --watch, which command must be. answer waits for a request with this command line and approves
// it; end ends pending --watch.
func (q *quickstart) watching(t *testing.T, command string) (answer func(...string), end func()) {
	t.Helper()
	want(t, "the command that answers", command, "docker hostexec pending --watch")
	m := approver(t, q.Host)
	return func(call ...string) {
		t.Helper()
		m.Expect(t, "  argv[0]  "+call[0]+"\r\n")
		m.Expect(t, "q leaves: ")
		m.Type(t, "y")
	}, func() { m.Type(t, "q"); want(t, "code of pending --watch", m.Wait(t), 0) }
}

// TestIntegrationQuickstart follows docs/quickstart.md in a terminal, with each agent. The user answers in another
// terminal, and then on the page. A login outlives the container.
func TestIntegrationQuickstart(t *testing.T) {
	t.Parallel() // most of it is waiting
	q := newQuickstart(t, os.Getuid() == 0)
	commands := q.commands(t, "In a terminal")
	build, run := commands[0], strings.Join(commands[2:], "\n")
	start := func(agent, login, key string, answer func(...string)) {
		t.Helper()
		q.sh(t, strings.Replace(build, "AGENT=claude", "AGENT="+agent, 1))
		m := q.term(t, "sh", "-c", run)
		m.Expect(t, agent+login+"\r\n")
		q.works(t, m, agent, key, answer)
	}
	answer, end := q.watching(t, commands[1])
	start("claude", " logs in", "sk-anthropic", answer)
	start("claude", " has a login", "sk-anthropic", answer)
	end()

	tab := q.ui(t).page(t, newBrowser(t))
	answer = func(call ...string) {
		t.Helper()
		id := tab.waiting(call[len(call)-1])
		tab.waitApprovable(id)
		tab.click(card(id) + " .approve")
	}
	start("codex", " logs in", "sk-openai", answer)
	start("aider", " logs in", "sk-openai", answer)
	q.quiet(t, soon)
}

// TestIntegrationQuickstartDevcontainer follows docs/quickstart.md in a dev container, as a tool starts it.
func TestIntegrationQuickstartDevcontainer(t *testing.T) {
	t.Parallel() // most of it is waiting
	q := newQuickstart(t, os.Getuid() == 0)
	commands := q.commands(t, "In a dev container")
	q.sh(t, commands[0])
	q.sh(t, commands[1])
	var d, printed devcontainer
	check(t, json.Unmarshal([]byte(q.local.Replace(string(readFile(t, filepath.Join(q.Work, ".devcontainer", "devcontainer.json"))))), &d))
	check(t, json.Unmarshal([]byte(q.Must(t, "hostexec", "devcontainer", "--proxy=gh=ask", "--proxy=git=ask", "--proxy=make=ask")), &printed))
	printed.Image, printed.RemoteUser = q.image, "agent"
	printed.Mounts = append(printed.Mounts, "type=volume,source="+q.image+",target=/home/agent")
	for _, key := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
		printed.RemoteEnv[key] = "${localEnv:" + key + "}"
	}
	if !reflect.DeepEqual(d, printed) {
		t.Errorf("devcontainer.json is %+v, and printed is %+v", d, printed)
	}

	answer, _ := q.watching(t, commands[2])
	q.Env = append(q.Env, "ANTHROPIC_API_KEY=sk-anthropic")
	name := unique("quickdev")
	initialize, run, env := d.devRun(q.Host, "0k3c9vq2m5h1quick", name)
	t.Cleanup(func() { q.Docker(t, "rm", "-f", name) })
	q.Must(t, initialize[1:]...) // without docker
	q.Must(t, run...)
	m := q.term(t, append(append([]string{"docker", "exec", "-it"}, env...), name, commands[3])...)
	q.works(t, m, "claude", "sk-anthropic", answer)
	q.Must(t, "rm", "-f", name)
	q.quiet(t, leaves)
}

// TestIntegrationQuickstartCompose follows docs/quickstart.md with docker compose.
func TestIntegrationQuickstartCompose(t *testing.T) {
	t.Parallel() // most of it is waiting
	q := newQuickstart(t, false)
	check(t, os.Symlink(must(t, composePlugin()), filepath.Join(q.Home, ".docker", "cli-plugins", "docker-compose")))
	q.Env = append(q.Env, "COMPOSE_PROJECT_NAME="+q.image)
	commands := q.commands(t, "With compose")
	q.sh(t, commands[0])
	file := filepath.Join(q.Work, "compose.yaml")
	text := strings.Replace(string(readFile(t, file)), "labels:\n", "labels:\n      "+strings.Replace(runLabel, "=", ": ", 1)+"\n", 1)
	check(t, os.WriteFile(file, []byte(q.local.Replace(text)), 0o644))
	t.Cleanup(func() { q.Docker(t, "rmi", "-f", q.image+"-agent") })
	answer, _ := q.watching(t, commands[1])
	m := q.term(t, "sh", "-c", strings.Join(commands[2:], "\n"))
	q.works(t, m, "claude", "sk-anthropic", answer)
	q.Must(t, "compose", "down", "-t0", "--volumes")
	q.quiet(t, leaves)
}
