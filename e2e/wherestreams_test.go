// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// whereMore are further scripts as those of whereRows: of what is larger, or rarer.
var whereMore = []string{
	`Xsh -c 'head -c 1073741824 /dev/zero' | wc -c`,
	`head -c 1073741824 /dev/zero | Xsh -c 'exec wc -c'`,
	`head -c 20000000 /dev/zero >/tmp/w; Xsh -c 'exec wc -c' </tmp/w; Xsh -c 'exec head -c 20000000 /dev/zero' >/tmp/w; wc -c </tmp/w`,
	`printf 'a\nb' | Xsh -c 'cat; echo; echo after its end'`,
	`yes | Xsh -c 'exec <&-; echo closed; exit 5'; echo ${PIPESTATUS[*]}`,
	`rm -f /tmp/f; mkfifo /tmp/f; exec 3<>/tmp/f; Xsh -c 'echo answered' <&3; echo $?`,
	`exec 3< <(echo one; exec sleep 1000); Xsh -c 'read -r a; echo "got $a"' <&3; kill $!`,
	`Xp print '' $'\n' $'a\n\nb\n' $'\xff\xfe\x80' $'\x01\x7f' -- - --help`,
	`a=$(head -c 122880 /dev/zero | tr '\0' a); Xp print "$a" x "$a" | wc -c; Xsh -c 'echo ${#1} ${#2}' sh "$a" ''`,
	`Xsh -c 'printf "no end of line"'; Xsh -c 'printf err >&2' 2>&1; Xsh -c :`,
	`Xsh -c 'seq 100000' | head -1; echo ${PIPESTATUS[*]}`,
	`Xbash -c 'trap "" PIPE; seq 100000 2>/dev/null; echo $? >&2' 2>&1 >/dev/null | head -1`,
	`cd /tmp; Xsh -c pwd 2>/dev/null; echo $?`,
	`mkdir -p d/e; cd d/e; Xsh -c 'echo text >../made; cd ..; cat made'; cat ../made; cd /w; rm -r d`,
	`mkdir -p g; cd g; rmdir /w/g; Xsh -c pwd 2>/dev/null; echo $?`,
	`LINES=7 COLUMNS=9 Xsh -c 'echo $LINES $COLUMNS'`,
	`hostexec --timeout 1s Xsh -c 'sleep 1000 & sleep 1000' 2>/dev/null; echo $?`,
	`set -- $(hostexec -d Xsh -c 'echo out; echo err >&2; exit 6' 2>/dev/null); hostexec wait $1; echo $?; hostexec logs $1`,
	`set -- $(hostexec -d Xsh -c 'echo out; sleep 1000' 2>/dev/null); hostexec kill $1 >/dev/null; hostexec wait $1; echo $?`,
	`Xsh -c 'grep Sig[IB] /proc/self/status; ls /proc/self/fd' | wc -l; Xsh -c 'grep Sig[IB] /proc/self/status'`,
	`Xsh -c 'kill -TERM 0'; echo $?`,
	`Xbash -c 'set -m; sleep 1000 & kill %1; wait %1; echo $?' 2>/dev/null`,
}

// TestIntegrationWhereStreams runs every row in both places: the bytes and the codes are the same.
func TestIntegrationWhereStreams(t *testing.T) {
	for _, h := range anyUser(t) {
		c := h.Holding(t, places(t)...)
		c.As("0").Exec(t, "chmod", "777", "/w")
		as := c
		if h.cred != nil {
			as = c.As(itoa(ordinaryUID)) // who can write what the command makes, and the other way round
		}
		bothPlaces(t, as, whereMore)
		c.wantNoCallContainer(t)
	}
}

// TestIntegrationWhereDeath sends every signal that is forwarded and not caught, in both
// places, to a command whose caller has a pipe for its stdin.
func TestIntegrationWhereDeath(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			c := h.Holding(t, places(t)...)
			for _, sig := range []string{"HUP", "INT", "QUIT", "TERM", "USR1", "USR2"} {
				var codes [2]int
				for i, x := range []string{"hbash", "cbash"} {
					call := c.Start(t, x, "-c", "echo ready; exec sleep 1000")
					want(t, "line", call.Line(t), "ready")
					call.Signal(t, sig)
					codes[i] = call.Ended(t).Code
				}
				want(t, sig+": code in a container", codes[1], codes[0])
			}
			c.wantNoCallContainer(t)
		})
	}
}

// TestIntegrationWhereRecorded checks record, capture and output limits of rules, on the host and in a
// container.
func TestIntegrationWhereRecorded(t *testing.T) {
	h := newHost(t, false)
	in := "where: 'container:" + image(t, "full") + "', "
	rules := "rules: [{id: in, do: allow, accept: host-code-execution, stdin: capture(1KiB), record: true, argv: [-c, 'cat; echo err >&2']}, {id: much, do: allow, accept: host-code-execution, output: 1KiB, argv: [-c, 'head -c 5000 /dev/zero']}," +
		"{id: long, do: allow, accept: host-code-execution, timeout: 1s, argv: [-c, 'sleep 1000']}]"
	h.Write(t, h.State, "config.yaml", "commands:\n  hsh: {exec: /bin/sh, "+rules+"}\n  csh: {"+in+"exec: /bin/sh, "+rules+"}\n", 0o600)
	c := h.Holding(t)
	type outcome struct {
		out  string
		code int
	}
	for _, row := range []string{
		`printf 'a\nb' | hostexec Xsh -c 'cat; echo err >&2'`,
		`head -c 2000 /dev/zero | hostexec Xsh -c 'cat; echo err >&2'`,
		`hostexec Xsh -c 'head -c 5000 /dev/zero'`,
		`hostexec Xsh -c 'sleep 1000'`,
	} {
		on, in := c.Sh(t, strings.ReplaceAll(row, "X", "h")), c.Sh(t, strings.ReplaceAll(row, "X", "c"))
		want(t, row, outcome{in.Out, in.Code}, outcome{on.Out, on.Code})
	}
	var shown [2]string
	for i, name := range []string{"hsh", "csh"} {
		lines := h.Audit(t, "HOSTEXEC COMPLETE", "cmd=\""+name+" -c 'cat; echo err")
		if len(lines) != 1 {
			t.Fatalf("%d calls of %s came to their end, want 1", len(lines), name)
		}
		_, rest, _ := strings.Cut(lines[0], " request=")
		shown[i] = h.Must(t, "hostexec", "replay", rest[:16])
	}
	for _, recording := range shown { // two pipes have no order
		wantText(t, recording, "a\nb")
		wantText(t, recording, "err\n")
		want(t, "what is recorded", len(recording), len("a\nberr\n"))
	}
	c.wantNoCallContainer(t)
}
