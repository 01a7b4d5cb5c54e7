// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// packHeader begins a pack with n objects.
func packHeader(n int) []byte {
	return binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(n))
}

// deflated returns the entry of a pack (gitformat-pack(5)).
func deflated(kind byte, size int, before, data []byte) []byte {
	c := kind<<4 | byte(size&15)
	var entry []byte
	for size >>= 4; size > 0; size >>= 7 {
		entry, c = append(entry, c|0x80), byte(size&0x7f)
	}
	var b bytes.Buffer
	b.Write(append(append(entry, c), before...))
	w := zlib.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// deltas returns a small pack with n files of size bytes, each of which git has to compute from the first.
func (f *fixture) deltas(n, size int) []byte {
	f.Helper()
	base := make([]byte, size)
	path := filepath.Join(f.dir, "base")
	f.check(os.WriteFile(path, base, 0o600))
	id, err := hex.DecodeString(f.sh(f.dir+"/hostile", "git hash-object "+path))
	f.check(err)
	pack := append(packHeader(n+1), deflated(3, size, nil, base)...)
	for i := range n {
		d := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(size)), uint64(size+8))
		for left := size; left > 0; left -= min(left, 0xffff) { // copies of 64 KiB, from offset 0
			part := min(left, 0xffff)
			d = append(d, 0xb0, byte(part), byte(part>>8))
		}
		pack = append(pack, deflated(7, len(d)+9, id, fmt.Appendf(append(d, 8), "%08d", i))...)
	}
	return sealed(pack)
}

// TestCostly sends small packs that stand for much: git reaches its limit of time, and nothing is decided.
//
// Attack 253.
func TestCostly(t *testing.T) {
	f := newFixture(t, "sha1")
	f.sh(f.dir, "git init -q hostile")
	w := filepath.Join(f.dir, "hostile")
	bomb := f.sh(w, `t=$(git mktree </dev/null); b=$(echo x | git hash-object -w --stdin); e="100644 blob $b"
		for l in 1 2 3 4 5 6 7 8 9; do t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf "$e\td$i\n"; done | git mktree); e="040000 tree $t"; done
		git commit-tree -m x $t`)
	f.limit(func(c *Call) { c.maxCPU = time.Second })
	for _, tt := range []struct {
		name, id string
		pack     []byte
		want     string
	}{
		{"many files", bomb, f.pack(strings.Fields(f.sh(w, "git rev-list --objects --no-object-names "+bomb))...), errCostly.Error()},
		{"many deltas", bomb, f.deltas(500, 16<<20), errCostly.Error()},
		{"many objects", bomb, sealed(packHeader(maxNewList + 1)), errTooMany.Error()},
	} {
		out, _ := f.send(append(commandsOf(tt.id, "refs/heads/x"), tt.pack...))
		if !strings.Contains(out, tt.want) || f.decided() > 0 {
			t.Errorf("%s: a pack of %d bytes: %d updates decided, the answer ends %q, want %q", tt.name, len(tt.pack), f.decided(), out[max(0, len(out)-200):], tt.want)
		}
	}
	f.empty()
}

// TestTooMuchOutput pushes commits about which git writes more than hostexec keeps.
func TestTooMuchOutput(t *testing.T) {
	for _, tt := range []struct {
		name, files string
		want        error
	}{
		{"small files", "for i in 1 2 3 4 5; do printf %1000d $i >f$i; done", errSmallFiles},
		{"many objects", "for i in $(seq 120); do echo $i >f$i; done", errTooMany},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, "sha1")
			f.limit(func(c *Call) { c.maxOutput = 4000 })
			w := f.clone("")
			f.sh(w, tt.files+"; git add .; git commit -qm files")
			if out, code := f.try(w, "git push origin main"); code != 1 || !strings.Contains(out, tt.want.Error()) || f.decided() > 0 {
				t.Errorf("exit code %d, %s%s", code, out, f.complained())
			}
			f.empty()
		})
	}
}

// TestTooLarge pushes more than is permitted with the container's own git, which does not wait for anything.
func TestTooLarge(t *testing.T) {
	f := newFixture(t, "sha1")
	w := f.clone("")
	f.limit(func(c *Call) { c.MaxPack = 1 << 20 })
	f.sh(w, "head -c 40000000 /dev/urandom >large; git add large; git commit -qm large")
	out, code := f.try(w, "timeout 60 git push origin main")
	if code != 1 || !strings.Contains(out, "remote unpack failed: pack exceeds maximum allowed size") || f.decided() > 0 {
		t.Errorf("exit code %d, %s%s", code, out, f.complained())
	}
	f.empty()
}

// TestLimit limits a process.
func TestLimit(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := setLimits(cmd.Process.Pid, time.Minute); err != nil {
		t.Error(err)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", cmd.Process.Pid))
	for _, want := range [][]string{{"Max", "cpu", "time", "60", "60"}, {"Max", "data", "size", "2147483648", "2147483648"}} {
		if !strings.Contains(strings.Join(strings.Fields(string(limits)), " "), strings.Join(want, " ")) {
			t.Errorf("%v: the limits lack %v:\n%s", err, want, limits)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
