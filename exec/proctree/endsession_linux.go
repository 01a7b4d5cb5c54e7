// SPDX-License-Identifier: Apache-2.0

package proctree

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

var errOwnSession = errors.New("this process is a command of the session itself")

func endSessionProcesses(session string, grace time.Duration) (was bool, err error) {
	if os.Getenv(SessionMarker) == session {
		return false, errOwnSession // others of them may wait for its answer
	}
	spared := ancestors()
	e := treeEnding{find: func() snapshot {
		s := lostProcesses(session, spared)
		was = was || len(s.alive) > 0
		return s
	}}
	return was, e.run(grace, nil)
}

// lostProcesses searches all processes of the host.
func lostProcesses(session string, spared map[int]bool) snapshot {
	pids := readable()
	awaitExec(slices.Clone(pids))
	var roots []int
	for _, pid := range pids {
		if hasVariablePrefix(environ(pid), SessionMarker+"="+session+"\x00") {
			roots = append(roots, pid)
		}
	}
	s := snapshot{dead: map[int]bool{}}
	newChildLister().walk(roots, &s)
	s.alive = slices.DeleteFunc(s.alive, func(m proc) bool { return spared[m.pid] })
	return s
}

// scanProcesses scans all processes of the host. It scans again if a process has ended before its environment was
// read, because the scan may have missed its children.
func scanProcesses() *ProcessScan {
	const most = 10
	for range most {
		failed := failedOpens.Load()
		pids := readable()
		awaitExec(slices.Clone(pids))
		s := &ProcessScan{sessions: map[string]bool{}}
		complete := true
		for _, pid := range pids {
			env := environ(pid)
			s.add(commandLine(pid), sessionMarkers(env))
			complete = complete && (len(env) > 0 || alive(pid))
		}
		if complete && failedOpens.Load() == failed {
			return s
		}
	}
	return nil
}

// sessionMarkers returns the values of SessionMarker in env.
func sessionMarkers(env []byte) (ids []string) {
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if id, ok := bytes.CutPrefix(kv, []byte(SessionMarker+"=")); ok {
			ids = append(ids, string(id))
		}
	}
	return ids
}

// readable returns the processes whose environment this process may read. Kernel threads are left out, because
// they have none.
func readable() (pids []int) {
	const kthreadd = 2
	for _, name := range dirNames("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil || unix.Access(environFile(pid), unix.R_OK) != nil {
			continue
		}
		if st, ok := readStat(pid); ok && st.alive() && pid != kthreadd && st.ppid != kthreadd {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ancestors returns this process and all above it.
func ancestors() map[int]bool {
	all := map[int]bool{}
	for pid := os.Getpid(); pid > 0; {
		all[pid] = true
		st, ok := readStat(pid)
		if !ok {
			break
		}
		pid = st.ppid
	}
	return all
}
