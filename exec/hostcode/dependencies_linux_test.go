// SPDX-License-Identifier: Apache-2.0

package hostcode

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/docker-hostexec/hostexec/exec/mount"
)

// TestCode checks programs that lead into the container's mount through the kernel, env(1) or the
// loader.
//
// Attack 214.
func TestCode(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, bin := filepath.Join(base, "work"), filepath.Join(base, "bin")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(work, "venv/bin/python"), "")
	write(filepath.Join(bin, "ours"), "#!/bin/sh\n")
	for name, first := range map[string]string{
		"plain": "#!/bin/sh -e", "venv": "#!" + work + "/venv/bin/python", "spaced": "#! \t" + work + "/venv/bin/python -I",
		"chain": "#!" + bin + "/venv", "relative": "#!bin/sh", "argument": "#!/bin/sh " + work + "/script",
		"env": "#!/usr/bin/env theirs", "envS": "#!/usr/bin/env -S -i A=1 theirs -u", "envPath": "#!/usr/bin/env " + work + "/venv/bin/python",
		"envOurs": "#!/usr/bin/env ours", "envNone": "#!/usr/bin/env nowhere-at-all", "missing": "#!" + work + "/not/there",
		"envJoined": "#!/usr/bin/env -iS./theirs", "envLong": "#!/usr/bin/env --split-string=./theirs", "envBare": "#!/usr/bin/env -vS bin/theirs",
		"envSet": "#!/usr/bin/env -S PATH=./bin:/usr/bin ours", "envMore": "#!/usr/bin/env -S PATH=" + bin + ":${PATH} ours",
		"envLink": "#!" + bin + "/as ./theirs", "envTwice": "#!/usr/bin/env -S env -u A env theirs", "envQuoted": "#!/usr/bin/env -S 'theirs' -u",
		"envValue": "#!/usr/bin/env -S -u theirs -C / ours", "envAlone": "#!/usr/bin/env -u", "option": "#!/bin/sh --rcfile=./theirs",
		"text": "no script", "empty": "",
	} {
		write(filepath.Join(bin, name), first+"\n")
	}
	for name, to := range map[string]string{"theirs": work + "/venv/bin/python", "link": work + "/venv/bin/python", "as": "/usr/bin/env", "loop1": "loop2", "loop2": "loop1"} {
		if err := os.Symlink(to, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(bin, "self"), "#!"+bin+"/self\n")
	for n := range 9 {
		write(filepath.Join(bin, "envChain"+strconv.Itoa(n)), "#!/usr/bin/env envChain"+strconv.Itoa(n+1)+"\n")
	}
	if err := os.Symlink(work+"/venv/bin/python", filepath.Join(bin, "envChain9")); err != nil {
		t.Fatal(err)
	}
	elfFile(t, filepath.Join(bin, "elf"), "/lib/ld.so", elf.DT_RUNPATH, "$ORIGIN/../lib:/usr/lib")
	elfFile(t, filepath.Join(bin, "elfLoader"), filepath.Join(work, "ld.so"), elf.DT_RUNPATH, "/usr/lib")
	elfFile(t, filepath.Join(bin, "elfRun"), "/lib/ld.so", elf.DT_RUNPATH, "/usr/lib:"+work+"/build")
	elfFile(t, filepath.Join(bin, "elfPath"), "/lib/ld.so", elf.DT_RPATH, "${ORIGIN}/../work/lib")
	elfFile(t, filepath.Join(bin, "elfCwd"), "/lib/ld.so", elf.DT_RPATH, "/usr/lib:")
	elfFile(t, filepath.Join(bin, "elfNeeds"), "/lib/ld.so", elf.DT_NEEDED, work+"/lib/x.so")
	elfFile(t, filepath.Join(bin, "elfPlain"), "/lib/ld.so", elf.DT_NEEDED, "libc.so.6")
	access, err := mount.NewTable([]mount.Point{{Target: "/w", Source: work, Bind: true}}, mount.Default{})
	if err != nil {
		t.Fatal(err)
	}
	defer access.Close()
	for name, want := range map[string]bool{
		"plain": false, "venv": true, "spaced": true, "chain": true, "relative": true, "argument": true, "env": true, "envS": true,
		"envPath": true, "envOurs": false, "envNone": false, "missing": true, "text": false, "empty": false, "link": true, "loop1": false,
		"envJoined": true, "envLong": true, "envBare": true, "envSet": true, "envMore": false, "envLink": true, "envTwice": true, "envQuoted": true,
		"envValue": false, "envAlone": false, "envChain0": true, "option": true,
		"self": false, "elf": false, "elfLoader": true, "elfRun": true,
		"elfPath": true, "elfCwd": true, "elfNeeds": true, "elfPlain": false, "none": false,
	} {
		if at, got := WritableDependency(filepath.Join(bin, name), bin, access); got != want {
			t.Errorf("Code(%s) = %q, %v, want %v", name, at, got, want)
		}
	}
}

// TestMissingInterpreter: the kernel's answer for each of these programs is that the program is not found.
func TestMissingInterpreter(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, first := range map[string]string{
		"good": "#!/bin/sh", "missing": "#!/nope/interp -x", "chain": "#! \t" + at("missing"), "windows": "#!/bin/sh\r", "relative": "#!nope/sh",
		"self": "#!" + at("self"), "text": "no script", "empty": "#!",
	} {
		if err := os.WriteFile(at(name), []byte(first+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	elfFile(t, at("elf"), "/nope/ld.so", elf.DT_RUNPATH, "/usr/lib")
	for name, want := range map[string]string{
		"good": "", "missing": "/nope/interp", "chain": "/nope/interp", "windows": "/bin/sh\r", "relative": "nope/sh",
		"self": "", "text": "", "empty": "", "elf": "/nope/ld.so", "none": "",
	} {
		if got := MissingInterpreter(at(name)); got != want {
			t.Errorf("MissingInterpreter(%s) = %q, want %q", name, got, want)
		}
	}
}

// TestDependencyPipe has a named pipe as the program, and as the interpreter of a script. No writer opens the pipe, so
// opening it would wait forever.
func TestDependencyPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, script := filepath.Join(dir, "pipe"), filepath.Join(dir, "script")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o755), os.WriteFile(script, []byte("#!"+pipe+"\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	access, err := mount.NewTable(nil, mount.Default{})
	if err != nil {
		t.Fatal(err)
	}
	defer access.Close()
	done := make(chan struct{})
	// ends with the checks; t.Fatal ends a test whose check waits.
	go func() {
		defer close(done)
		for _, path := range []string{pipe, script} {
			if at, ok := WritableDependency(path, dir, access); ok {
				t.Errorf("WritableDependency(%s) = %s, want none", path, at)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the check waits for a writer of the pipe")
	}
}

// elfFile writes the header of a program with the given loader and a dynamic tag, such as RPATH.
func elfFile(t *testing.T, name, loader string, tag elf.DynTag, value string) {
	t.Helper()
	strs := append(append(append([]byte{0}, loader...), 0), append([]byte(value), 0)...)
	const start = 64 + 56
	end := uint64(start + len(strs))
	dyn := []elf.Dyn64{{Tag: int64(tag), Val: uint64(len(loader) + 2)}, {}}
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1,
			Phoff: 64, Shoff: end + 32, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: 3, Shstrndx: 1,
		},
		elf.Prog64{Type: uint32(elf.PT_INTERP), Off: start + 1, Filesz: uint64(len(loader) + 1)},
		strs, dyn, elf.Section64{},
		elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: start, Size: uint64(len(strs))},
		elf.Section64{Type: uint32(elf.SHT_DYNAMIC), Off: end, Size: 32, Link: 1, Entsize: 16},
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
}
