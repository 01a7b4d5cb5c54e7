// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/sandbox"
)

// stdin is the input of a call.
type stdin struct{ io.Reader }

func (stdin) Close() error { return nil }

// send has the container send bytes to receive-pack after the advertisement, and returns the answer.
func (f *fixture) send(b []byte) (string, int) {
	f.Helper()
	var out bytes.Buffer
	in := io.MultiReader(strings.NewReader("capabilities\nconnect git-receive-pack\n"), bytes.NewReader(b))
	code, err := f.call.Serve(context.Background(), stdin{in}, &out, f)
	f.check(err)
	return out.String(), code
}

// commandsOf returns the commands of a push of id to each ref.
func commandsOf(id string, refs ...string) (b []byte) {
	for i, ref := range refs {
		abilities := ""
		if i == 0 {
			abilities = "\x00report-status"
		}
		b = appendPkt(b, "%s %s %s%s", strings.Repeat("0", len(id)), id, ref, abilities)
	}
	return append(b, flushPkt...)
}

// pack returns a pack with the given objects of f's repository hostile.git.
func (f *fixture) pack(ids ...string) []byte {
	f.Helper()
	cmd := exec.Command("git", "pack-objects", "--stdout", "-q")
	cmd.Dir, cmd.Env, cmd.Stdin = filepath.Join(f.dir, "hostile"), f.env, strings.NewReader(strings.Join(ids, "\n")+"\n")
	b, err := cmd.Output()
	f.check(err)
	return b
}

// TestHostileRefs sends ref names that are dangerous for some program: none reaches a decision.
//
// Attack 253.
func TestHostileRefs(t *testing.T) {
	f := newFixture(t, "sha1")
	f.sh(f.dir, "git init -q hostile; cd hostile; "+commit)
	id := f.sh(f.dir+"/hostile", "git rev-parse HEAD")
	all := f.sh(f.dir+"/hostile", "git rev-list --objects --no-object-names HEAD")
	for _, ref := range []string{
		"refs/heads/../../../etc/x", "refs/heads/a\x1b[31m", "refs/heads/-x", "refs/heads/a b", "refs/heads/a:b", "refs/heads/a^", "refs/heads/*",
		"refs/heads/", "refs/heads//x", "refs/heads/x.lock", "refs/heads/.x", "refs/heads/a@{1}", "refs/heads/@", "refs/heads/HEAD", "refs/heads/ä", "refs/heads/a\r", "HEAD", "main", "refs/x",
		"--all", "+refs/heads/x", "refs/tags/-d", "refs/heads/x/", "refs/heads/a\\b", "refs/../refs/heads/x", "refs/heads/x..y", "refs/heads/x.", "refs/hidden/main",
	} {
		out, _ := f.send(append(commandsOf(id, ref), f.pack(strings.Fields(all)...)...))
		if !strings.Contains(out, "ng "+ref+" hostexec: ") || f.decided() > 0 {
			t.Errorf("%q: %d updates decided, the answer ends %q", ref, f.decided(), out[max(0, len(out)-120):])
		}
	}
	if out, _ := f.send(append(commandsOf(id, "refs/heads/fine"), f.pack(strings.Fields(all)...)...)); f.decided() != 1 || !strings.Contains(out, "ok refs/heads/fine") {
		t.Errorf("an honest name: %d updates decided, %q", f.decided(), out)
	}
	f.empty()
}

// TestHostileCommands sends commands that git never sends.
//
// Attack 253.
func TestHostileCommands(t *testing.T) {
	f := newFixture(t, "sha1")
	id := strings.Repeat("1", 40)
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprintf("refs/heads/r%d", i))
	}
	for name, b := range map[string][]byte{
		"10000 refs":          commandsOf(id, many...),
		"a ref twice":         commandsOf(id, "refs/heads/x", "refs/heads/x"),
		"no ref":              appendPkt(nil, "%s %s", id, id),
		"no ids":              appendPkt(nil, "x y refs/heads/x"),
		"an id of sha256":     commandsOf(strings.Repeat("1", 64), "refs/heads/x"),
		"an id as an option":  appendPkt(nil, "%s %s refs/heads/x", id, "--upload-pack=touch /tmp/x; exit; xxxxxx"),
		"a newline":           appendPkt(nil, "%s %s refs/heads/x\nng y", id, id),
		"a long ref":          commandsOf(id, "refs/heads/"+strings.Repeat("x", 5000)),
		"a bad length":        []byte("zzzz"),
		"a length of 3":       []byte("0003"),
		"a length of 65535":   append([]byte("ffff"), make([]byte, 70000)...),
		"a part of a line":    []byte("0040abc"),
		"shallow for ever":    bytes.Repeat(appendPkt(nil, "shallow %s", id), 40_000),
		"a pack, no commands": append([]byte("PACK"), make([]byte, 100)...),
	} {
		if out, code := f.send(b); code != exitFatal || strings.Contains(out, "unpack ok") || f.decided() > 0 {
			t.Errorf("%s: exit code %d, %d updates decided, %q", name, code, f.decided(), out[max(0, len(out)-100):])
		}
	}
	for name, words := range map[string]string{"a long command": strings.Repeat("x", 10_000), "an unknown service": "connect git-shell\n", "a path": "connect /bin/sh\n", "list": "list for-push\n"} {
		var out bytes.Buffer
		if code, err := f.call.Serve(context.Background(), stdin{strings.NewReader(words)}, &out, f); code != exitFatal || err != nil || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %v, %q", name, code, err, out.String())
		}
	}
	f.empty()
}

// TestHostilePacks sends packs that must not get further than the quarantine.
//
// Attack 253.
func TestHostilePacks(t *testing.T) {
	f := newFixture(t, "sha1")
	f.sh(f.dir, "git init -q hostile")
	w := filepath.Join(f.dir, "hostile")
	of := func(script string) (id string, pack []byte) {
		id = f.sh(w, script)
		lists, _ := f.try(w, "git rev-list --objects --no-object-names "+id)
		return id, f.pack(strings.Fields(lists)...)
	}
	tree := func(entry string) string {
		return `t=$(printf '` + entry + `' | git mktree --missing); git commit-tree -m x $t`
	}
	blob := f.sh(w, "echo evil | git hash-object -w --stdin")
	modules := f.sh(w, `printf '[submodule "x"]\n\tpath = x\n\turl = -u./evil\n' | git hash-object -w --stdin`)
	whole, wholePack := of("git read-tree --empty; " + tree(`100644 blob `+blob+`\tf\n`))
	huge := f.sh(w, "head -c 3000000 /dev/urandom | git hash-object -w --stdin")
	hugeID, hugePack := of(tree(`100644 blob ` + huge + `\tf\n`))
	type attack struct {
		id   string
		pack []byte
	}
	attacks := map[string]attack{
		"nothing":            {whole, nil},
		"no pack":            {whole, []byte("hello")},
		"a cut pack":         {whole, wholePack[:len(wholePack)-10]},
		"a changed pack":     {whole, append(append([]byte{}, wholePack[:20]...), make([]byte, len(wholePack)-20)...)},
		"an id not in it":    {strings.Repeat("2", 40), wholePack},
		"a blob as branch":   {blob, f.pack(blob)},
		"a commit alone":     {whole, f.pack(whole)},
		"too large":          {hugeID, hugePack},
		"4 billion objects":  {whole, sealed([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"))},
		"an object of 1 TiB": {whole, sealed([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\xa0\x80\x80\x80\x80\x80\x01x\x9c"))},
	}
	for name, entry := range map[string]string{".git": `100644 blob ` + blob + `\t.git\n`, ".GIT": `100644 blob ` + blob + `\t.GIT\n`,
		".gitmodules with an option": `100644 blob ` + modules + `\t.gitmodules\n`, ".gitmodules as a link": `120000 blob ` + blob + `\t.gitmodules\n`} {
		id, pack := of(tree(entry))
		attacks[name] = attack{id, pack}
	}
	f.limit(func(c *Call) { c.MaxPack = 1 << 20 })
	for name, a := range attacks {
		out, _ := f.send(append(commandsOf(a.id, "refs/heads/x"), a.pack...))
		if !strings.Contains(out, "ng refs/heads/x ") || f.decided() > 0 {
			t.Errorf("%s: %d updates decided, the answer ends %q", name, f.decided(), out[max(0, len(out)-150):])
		}
	}
	f.empty()
	mirrors, err := filepath.Glob(f.call.Dir + "/*.git")
	f.check(err)
	if len(mirrors) != 1 || f.sh(mirrors[0], "git cat-file -e "+blob+" 2>/dev/null || echo none") != "none" {
		t.Errorf("the mirror has objects of the container: %q", mirrors)
	}
	if out, _ := f.send(append(commandsOf(whole, "refs/heads/x"), wholePack...)); f.decided() != 1 {
		t.Errorf("an honest pack is not decided: %q", out)
	}
}

// sealed returns a pack with the checksum that it needs.
func sealed(b []byte) []byte {
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

// commandLog keeps which git was run, and how.
type commandLog struct {
	Runner
	mu  sync.Mutex // guards the field below
	ran []executor.Command
}

func (l *commandLog) Run(ctx context.Context, c executor.Command, s executor.Streams) (executor.Status, error) {
	l.mu.Lock()
	l.ran = append(l.ran, c)
	l.mu.Unlock()
	return l.Runner.Run(ctx, c, s)
}

// TestConfined checks each git process of a clone and a push. None has hooks, and those that read data of the container
// run in a sandbox without variables of the host.
func TestConfined(t *testing.T) {
	if err := sandbox.Supported(); err != nil { // git runs without one then, as docs/git.md says
		if !errors.Is(err, sandbox.ErrUnsupported) {
			t.Fatal(err)
		}
		return
	}
	f := newFixture(t, "sha1")
	f.mu.Lock()
	f.call.Env = append(f.call.Env, "SECRET=of the host", "GIT_DIR=/nonexistent", "GIT_CONFIG_COUNT=1")
	log := &commandLog{Runner: f.call.Runner}
	f.call.Runner = log
	f.mu.Unlock()
	w := f.clone("")
	f.sh(w, commit+"git push -q origin main")
	seen := map[string]bool{}
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, c := range log.ran {
		i := slices.IndexFunc(c.Args[1:], func(a string) bool { return a != "-c" && !strings.Contains(a, "=") }) + 1
		word, network := c.Args[i], slices.Contains(c.Env, "SECRET=of the host")
		seen[word] = true
		if outside := word == "fetch" || word == "push" || word == "ls-remote"; network != outside || (c.Sandbox == nil) != (outside || word == "init" || word == "symbolic-ref") {
			t.Errorf("git %s: with the host's variables: %v, in a sandbox: %v", word, network, c.Sandbox != nil)
		}
		if !slices.Contains(c.Args, "core.hooksPath=/dev/null") || !slices.Contains(c.Args, "protocol.allow=never") || slices.Contains(c.Env, "GIT_CONFIG_COUNT=1") || slices.Contains(c.Env, "GIT_DIR=/nonexistent") {
			t.Errorf("git %s: %q, %q", word, c.Args, c.Env)
		}
	}
	for _, word := range []string{"init", "fetch", "upload-pack", "index-pack", "rev-list", "log", "diff", "push"} {
		if !seen[word] {
			t.Errorf("git %s was not run: %v", word, seen)
		}
	}
}

// TestPruneQuarantine removes the quarantine of a watcher that was killed, and no other.
func TestPruneQuarantine(t *testing.T) {
	at := t.TempDir()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	dead, live := fmt.Sprintf("%s/incoming-%d-1", at, gone.Process.Pid), fmt.Sprintf("%s/incoming-%d-1", at, os.Getppid())
	for _, d := range []string{dead, live} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newQuarantine(at); err != nil {
		t.Fatal(err)
	}
	_, deadErr := os.Stat(dead)
	_, liveErr := os.Stat(live)
	if deadErr == nil || liveErr != nil {
		t.Errorf("of a killed watcher: %v, of a living one: %v", deadErr, liveErr)
	}
}

// TestEnds ends calls at several moments: no process and no file is left.
func TestEnds(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	f.sh(w, commit)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	head := f.sh(w, "git rev-parse HEAD")
	f.check(os.Symlink(w, filepath.Join(f.dir, "hostile")))
	pack := f.pack(strings.Fields(f.sh(w, "git rev-list --objects --no-object-names HEAD"))...)
	f.mu.Lock()
	f.call.Authorize = func(ctx context.Context, _ Update) (func(int), error) {
		cancel() // the caller leaves while a person reads
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	f.mu.Unlock()
	in := io.MultiReader(strings.NewReader("connect git-receive-pack\n"), bytes.NewReader(append(commandsOf(head, "refs/heads/x"), pack...)))
	if _, err := f.call.Serve(ctx, stdin{in}, io.Discard, f); err == nil {
		t.Error("a call that was left ends without an error")
	}
	if f.id("x") != "" {
		t.Error("the remote has what nobody approved")
	}
	// A container that sends a part of a pack, and waits.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	r, wr := io.Pipe()
	defer wr.Close()
	// ends when r is closed.
	go func() {
		wr.Write(append([]byte("connect git-receive-pack\n"), append(commandsOf(head, "refs/heads/x"), pack[:20]...)...))
		cancel()
	}()
	if _, err := f.call.Serve(ctx, r, io.Discard, f); err == nil {
		t.Error("a call without the end of its pack ends without an error")
	}
	f.empty()
}
