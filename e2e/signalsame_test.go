// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// signalDriver starts $1 -c SCRIPT for each row, as a job of a shell with job control. Where the
// script has said that it is ready, it sends what the row says to that process alone.
const signalDriver = `set -m
listens() { # the shim has heard of the start, and closed what is the command's now; it catches CONT
	[ ! -e /proc/$pid/fd/1 ] || return
	while read -r key set; do
		if [ "$key" = SigCgt: ]; then (( 0x$set >> 17 & 1 )); return; fi
	done </proc/$pid/status
}
try() { # NAME SCRIPT STEP...
	echo "== $1"
	coproc P { exec "$sh" -c "$2"; }
	pid=$P_PID
	exec {out}<&${P[0]} {in}>&${P[1]}-
	shift 2
	for step in "$@"; do
		case $step in
		line) IFS= read -r -u $out line; echo "$line"
			[ $sh = bash ] || until listens; do :; done ;;
		gone) while kill -0 $pid 2>/dev/null; do :; done ;;
		type) echo typed >&$in ;;
		*) kill -s $step $pid ;;
		esac
	done
	exec {in}>&-
	cat <&$out
	exec {out}<&-
	wait -f $pid 2>/dev/null
	echo "code $?"
}
idle='until read -t 0.05 x || [ $? -le 128 ]; do :; done; kill -KILL $c; wait $c 2>/dev/null; echo child $?'
sh=$1
for s in HUP TERM USR1 USR2; do
	try "a trap of $s" "trap 'echo got' $s; sleep 1000 & c=\$!; echo ready; $idle" line $s line
done
for s in WINCH CONT; do
	try "a trap of $s, and one of its child" "trap 'echo got' $s
		bash -c 'trap \"echo child got\" $s; echo ready; while read x; do echo \$x; done' <&0 & wait -f; wait; exit 3" line $s line type line
done
try "QUIT, then TERM" "bash -c 'echo ready; exec cat'; echo went on" line QUIT TERM gone
try "INT of a command" "echo ready; exec sleep 1000" line INT
try "USR1 of a command" "echo ready; exec sleep 1000" line USR1
`

// TestIntegrationSignalsAsLocal sends signals to commands of the container, of the host, and of a
// container of their own: each prints the same, and ends in the same way.
func TestIntegrationSignalsAsLocal(t *testing.T) {
	c := anyUser(t)[0].Holding(t, places(t)...)
	local := c.Exec(t, "bash", "-c", signalDriver, "bash", "bash")
	if local.Code != 0 || strings.Count(local.Out, "code ") != 9 {
		t.Fatalf("locally: %v", local)
	}
	for _, sh := range []string{"hbash", "cbash"} {
		want(t, sh, c.Exec(t, "bash", "-c", signalDriver, "bash", sh).Out, local.Out)
	}
	c.wantNoCallContainer(t)
}

// TestIntegrationKeysAsLocal types keys at a terminal while a command has a pipe for its stdout: the
// terminal signals all that is in its foreground.
func TestIntegrationKeysAsLocal(t *testing.T) {
	c := anyUser(t)[0].Shared(t, "socket")
	for key, script := range map[string]string{
		"\x03": `X -c 'trap : INT; bash -c "trap \"exit 7\" INT; echo ready; read x"; echo child $?' | cat; echo end`,
		"\x1c": `X -c 'trap : QUIT; bash -c "trap \"exit 7\" QUIT; echo ready; read x"; echo child $?' | cat; echo end`,
	} {
		var shown [2]string
		for i, sh := range []string{"bash", "hbash"} {
			m := c.Term(t, "bash", "-c", "trap : INT QUIT; "+strings.ReplaceAll(script, "X", sh))
			m.Expect(t, "ready\r\n")
			m.Type(t, key)
			shown[i] = m.Expect(t, "end\r\n")
			want(t, "code", m.Wait(t), 0)
		}
		want(t, "what the terminal shows", shown[1], shown[0])
	}
}
