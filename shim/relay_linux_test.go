// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// TestRelayNumbers makes calls that send data in another order than they connect, and one that
// sends nothing. The numbers must only grow, because the host takes a smaller one for a call that
// is over.
func TestRelayNumbers(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "relay"), 0o700))
	cmd := exec.Command("/proc/self/exe", "relay", dir)
	cmd.Env = append(os.Environ(), "TEST_AS_SHIM=1")
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		in.Close() // ends the relay
		cmd.Wait()
	})
	chunk := func() (uint32, string) {
		t.Helper()
		b := make([]byte, wire.ChunkHeaderLen+wire.MaxChunk)
		_, err := io.ReadFull(out, b[:wire.ChunkHeaderLen])
		check(t, err)
		call, n, err := wire.ParseChunk(b)
		check(t, err)
		_, err = io.ReadFull(out, b[:n])
		check(t, err)
		return call, string(b[:n])
	}
	if call, _ := chunk(); call != 0 {
		t.Fatalf("first it says something of call %d", call)
	}
	var calls []net.Conn
	for range 4 {
		c, err := net.Dial("unix", filepath.Join(dir, "relay", "socket"))
		check(t, err)
		defer c.Close()
		calls = append(calls, c)
	}
	calls[1].Close()
	for i, who := range []int{3, 0, 2} {
		text := string(rune('a' + who))
		_, err := io.WriteString(calls[who], text)
		check(t, err)
		if call, said := chunk(); call != uint32(i+1) || said != text {
			t.Errorf("call %d says %q, want %d to say %q", call, said, i+1, text)
		}
		_, err = in.Write(append(wire.AppendChunk(nil, uint32(i+1), 1), text...))
		check(t, err)
		b := make([]byte, 1)
		if _, err := io.ReadFull(calls[who], b); err != nil || string(b) != text {
			t.Errorf("the host's answer to %q is %q: %v", text, b, err)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
