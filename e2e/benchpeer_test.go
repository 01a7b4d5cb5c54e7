// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What calls are measured against: programs that do nothing, and other ways to run them.

// writeEmpty builds U: a Go program that does nothing, as the shim is a Go program.
func writeEmpty(t *testing.T, file string) {
	t.Helper()
	src := filepath.Join(t.TempDir(), "empty.go")
	check(t, os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600))
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build an empty program: %v\n%s", err, out)
	}
}

// writeNoop writes the smallest program: an ELF header, one segment, and exit(0) (elf(5)). Its run
// time is the kernel's cost of starting and reaping a process.
func writeNoop(t *testing.T, file string) {
	t.Helper()
	code, machine := []byte{0x6a, 60, 0x58, 0x31, 0xff, 0x0f, 0x05}, elf.EM_X86_64 // push 60; pop rax; xor edi, edi; syscall
	if runtime.GOARCH == "arm64" {
		code, machine = []byte{0, 0, 0x80, 0xd2, 0xa8, 0xb, 0x80, 0xd2, 1, 0, 0, 0xd4}, elf.EM_AARCH64 // mov x0, 0; mov x8, 93; svc 0
	}
	const base, header = 0x400000, 64 + 56
	size := uint64(header + len(code))
	var out bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
			Entry: base + header, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
		},
		elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: base, Paddr: base, Filesz: size, Memsz: size, Align: 0x1000},
		code,
	} {
		check(t, binary.Write(&out, binary.LittleEndian, part))
	}
	check(t, os.WriteFile(file, out.Bytes(), 0o755))
}

// ssh starts a server of our own, and a connection to it that others share (ControlMaster,
// ssh_config(5)). It returns ssh's arguments up to the command.
func (b *bench) ssh(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	for _, key := range []string{"host", "user"} {
		b.clock(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key))
	}
	me, err := user.Current()
	check(t, err)
	port := freePort(t)
	check(t, os.WriteFile(filepath.Join(dir, "sshd"), fmt.Appendf(nil, `
ListenAddress 127.0.0.1:%s
HostKey %[2]s/host
AuthorizedKeysFile %[2]s/user.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
%[3]s
`, port, dir, b.sshConfig), 0o600))
	check(t, os.MkdirAll("/run/sshd", 0o755)) // sshd wants it when it is root
	b.background(t, find(t, "sshd", "/usr/sbin/sshd"), "-D", "-e", "-f", filepath.Join(dir, "sshd"))
	eventually(t, patience, "sshd listens", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		return err == nil && conn.Close() == nil
	})
	args := []string{
		"-F", "none", "-S", filepath.Join(dir, "shared"), "-i", filepath.Join(dir, "user"), "-p", port, "-l", me.Username,
		"-o", "UserKnownHostsFile=" + filepath.Join(dir, "known"), "-o", "StrictHostKeyChecking=accept-new", "127.0.0.1",
	}
	b.background(t, "ssh", append([]string{"-M", "-N"}, args...)...)
	eventually(t, patience, "the shared connection is there", func() bool {
		return b.host.feed(t, "", "ssh", append([]string{"-O", "check"}, args...)...).Code == 0
	})
	return args
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	check(t, err)
	return port
}

// background runs a program until the end of the test.
func (b *bench) background(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := b.host.Command(ctx, name, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	check(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		cmd.Wait() // it is killed
		if t.Failed() {
			t.Logf("%s: %s", name, errs.String())
		}
	})
}
