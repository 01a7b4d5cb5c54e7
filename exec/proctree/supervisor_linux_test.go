// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/docker-hostexec/hostexec/exec/exectest"
)

// detached starts a process that has no marker, no session and no parent of its command's.
const detached = "(env -i setsid sh -c 'trap \"\" TERM; echo ready; sleep 1000; :' &); "

func supervisedSh(script string) StartConfig {
	s := sh(script)
	s.Supervise = true
	return s
}

// What a command detaches from itself stays in its tree, while it runs and when it has ended.
//
// Attack 234.
func TestAdopt(t *testing.T) {
	t.Run("running", func(t *testing.T) {
		tr := start(t, newParent(t), supervisedSh(detached+"exec sleep 1000"))
		tr.ready(t)
		if err := tr.End(short); err != nil {
			t.Error(err)
		}
		tr.gone(t)
		tr.Reap()
	})
	t.Run("ended", func(t *testing.T) {
		tr := start(t, newParent(t), supervisedSh(detached+"exit 3"))
		tr.ready(t)
		if ws := tr.Reap(); ws.ExitStatus() != 3 {
			t.Errorf("Reap = %v, want exit status 3", ws)
		}
		if !HasLeftovers(t.Name()) {
			t.Error("what the command has left is not found")
		}
		if _, ok := leftOf(supervised + t.Name()); ok {
			t.Error("the supervisor is listed as what a call left")
		}
		if was, err := EndLeftovers(t.Name(), short); !was || err != nil {
			t.Errorf("EndLeftovers = %v, %v", was, err)
		}
		tr.gone(t)
	})
	t.Run("nothing left", func(t *testing.T) {
		tr := start(t, newParent(t), supervisedSh("echo ready; kill -TERM $$"))
		tr.ready(t)
		if ws := tr.Reap(); ws.Signal() != unix.SIGTERM {
			t.Errorf("Reap = %v, want TERM", ws)
		}
		exectest.Eventually(t, "the supervisor has ended", func() bool { return !HasLeftovers(t.Name()) })
	})
	t.Run("supervisor killed", func(t *testing.T) {
		name := exectest.FIFO(t)
		s := supervisedSh("echo ready; read x <$0; kill -KILL $PPID; sleep 1000; :")
		s.Args = append(s.Args, name)
		tr := start(t, newParent(t), s)
		tr.ready(t)
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // not before the supervisor has said that the command runs
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if ws := tr.Reap(); ws.Signal() != unix.SIGKILL {
			t.Errorf("Reap = %v, want KILL", ws)
		}
		tr.gone(t)
	})
}

// A supervised command has its own marker, session and process group, and default signals.
func TestAdoptInherits(t *testing.T) {
	tr := start(t, newParent(t), supervisedSh(`IFS=" " read -r pid _ _ _ group sid _ </proc/$$/stat; echo $((pid - group)) $((pid - sid)) $HOSTEXEC_REQUEST_ID; ls -l /proc/$PPID/fd | grep -c "$(readlink /proc/$$/fd/1)"; grep SigIgn /proc/$$/status`))
	if got, want := tr.ready(t), "0 0 "+t.Name(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := tr.ready(t); got != "0" {
		t.Errorf("the supervisor has %s pipes", got)
	}
	if got := strings.Fields(tr.ready(t))[1]; strings.Trim(got, "0") != "" {
		t.Errorf("ignored: %s", got)
	}
	tr.Reap()
}

// An orphan of a supervised subtree ends with the request whose marker it has.
func TestAdoptPrune(t *testing.T) {
	name := exectest.FIFO(t)
	s := supervisedSh(`echo ready; read x <$0; (setsid env HOSTEXEC_REQUEST_ID=request.subtree sh -c 'echo ready; sleep 1000; :' &); exec sleep 1000`)
	s.Args, s.ID = append(s.Args, name), "subtree"
	tr := start(t, newParent(t), s)
	tr.ready(t)
	subtree := NewSubtree(tr.Pid, "subtree")
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	tr.ready(t)
	if err := subtree.EndNew("request", patience); err != nil {
		t.Error(err)
	}
	if !subtree.Alive() {
		t.Error("the subtree has ended")
	}
	if err := tr.End(0); err != nil {
		t.Error(err)
	}
	tr.gone(t)
	tr.Reap()
}
