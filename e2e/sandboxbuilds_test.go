// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sandboxBuilds are builds as projects have them. Each script runs in a directory of its own, with -e; its last line
// of output is the wanted one.
var sandboxBuilds = []struct{ name, script, want string }{
	{"make -j", `for i in 1 2 3 4 5 6 7 8; do echo "int f$i(void){return $i;}" >f$i.c; done
		echo 'int f8(void); int puts(const char*); int main(void){return f8()==8?puts("made"),0:1;}' >main.c
		printf 'prog: $(patsubst %%.c,%%.o,$(wildcard *.c))\n\tcc -o $@ $^\ncheck: prog\n\t./prog\n' >Makefile; make -s -j4 check`, "made"},
	{"gcc -shared", `echo 'int v(void){return 7;}' >l.c; gcc -shared -fPIC -g -o libl.so l.c; strip libl.so
		echo 'int v(void); int main(void){return v()-7;}' >m.c; gcc m.c -L. -ll -Wl,-rpath,'$ORIGIN' -o m; ./m; echo linked`, "linked"},
	{"g++ -pipe", `printf '#include <string>\n#include <iostream>\nint main(){std::string s="cxx"; std::cout<<s<<"\\n";}' >m.cc; g++ -O2 -pipe m.cc -o m; ./m`, "cxx"},
	{"ar and ld", `echo 'int a(void){return 1;}' >a.c; gcc -c a.c; ar rcs liba.a a.o; ranlib liba.a; ld -r -o r.o a.o; nm r.o | grep -c ' T a'`, "1"},
	{"go build and go test", goModule + `printf 'package main\nimport "testing"\nfunc TestX(t *testing.T){ if x() != 1 { t.Fatal() } }\n' >x_test.go
		go build -o p .; ./p 2>&1 | grep -q 'built by go'; go vet .; go test -vet=off . | cut -c1-2`, "ok"},
	{"go generate", goModule + `echo '//go:generate sh -c "echo generated >g.txt"' >>main.go; go generate ./...; cat g.txt`, "generated"},
	{"python venv", `/usr/bin/python3 -m venv --without-pip v; v/bin/python -c 'import sys, tempfile; tempfile.TemporaryFile(); print(sys.prefix.endswith("/v"))'`, "True"},
	{"python tests", `printf 'import unittest\nclass T(unittest.TestCase):\n def test(self): self.assertEqual(1, 1)\n' >test_a.py; /usr/bin/python3 -m unittest -q 2>&1; /usr/bin/python3 -m compileall -q .; ls __pycache__ | wc -l`, "1"},
	{"perl Makefile.PL", `mkdir lib t; printf 'package A;our $VERSION=1;sub v{5}1;\n' >lib/A.pm; printf 'use Test::More tests=>1;use A;is(A::v(),5);' >t/a.t
		printf 'use ExtUtils::MakeMaker;WriteMakefile(NAME=>"A",VERSION_FROM=>"lib/A.pm");' >Makefile.PL; perl Makefile.PL >/dev/null; make -s test | tail -1`, "Result: PASS"},
	{"tar", `mkdir a; head -c 100000 /dev/urandom >a/f; chmod 750 a/f; ln -s f a/l; tar -czpf a.tgz a; mkdir b; tar -xzpf a.tgz -C b; cmp a/f b/a/f; stat -c %a b/a/f`, "750"},
	{"rsync", `mkdir -p a/b; echo x >a/b/c; touch -d @1000000 a/b/c; rsync -a --delete a/ d/; stat -c %Y d/b/c`, "1000000"},
	{"git", `git init -q .; git config user.email a@b; git config user.name a; echo x >f; git add f; git commit -qm c; git clone -q . ../clone-of-git; git -C ../clone-of-git status --short; git log --format=%s`, "c"},
	{"sed, awk, sort", `seq 1 1000 | sed -n 's/0$/x/p' | awk '{n++} END{print n}' >n; seq 50000 | shuf | sort -n -S 1M | tail -1 >>n; paste -sd' ' n`, "100 50000"},
	{"find and xargs", `for i in $(seq 40); do echo $i >$i.txt; done; find . -name '*.txt' -print0 | xargs -0 -P4 -n5 cat | wc -l`, "40"},
	{"install and cp", `echo '#!/bin/sh' >s; install -m 755 -D s out/bin/s; cp -a out copy; touch -r s copy/bin/s; stat -c %a copy/bin/s`, "755"},
	{"diff and patch", `seq 9 >a; sed 's/5/five/' a >b; diff -u a b >p || true; patch -s a <p; cmp a b; f=$(mktemp); echo patched >$f; cat $f`, "patched"},
	{"configure", `printf 'AC_INIT([a],[1])\nAC_PROG_CC\nAC_CHECK_HEADERS([unistd.h])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n' >configure.ac; printf 'all:\n\t@echo @CC@\n' >Makefile.in
		autoconf; ./configure -q; make -s`, "gcc"},
	{"cmake and ninja", `printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nadd_executable(p p.c)\nenable_testing()\nadd_test(t p)\n' >CMakeLists.txt; echo 'int main(void){return 0;}' >p.c
		cmake -G Ninja -B b . >/dev/null; ninja -C b >/dev/null; (cd b; ctest | grep -o '100% tests passed')`, "100% tests passed"},
	{"dpkg-deb", `mkdir -p d/DEBIAN d/usr/bin; echo x >d/usr/bin/x; printf 'Package: a\nVersion: 1\nArchitecture: all\nMaintainer: a\nDescription: a\n' >d/DEBIAN/control
		dpkg-deb --root-owner-group -b d a.deb >/dev/null; dpkg-deb -f a.deb Package`, "a"},
	{"coprocesses", `coproc cat; echo through >&${COPROC[1]}; read -r line <&${COPROC[0]}; mkfifo p; (echo $line >p &); cat <p; flock l true`, "through"},
}

// goModule makes a module that needs no other one.
const goModule = `printf 'package main\nfunc x() int { return 1 }\nfunc main() { print("built by go\\n") }\n' >main.go; export GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0; go mod init x 2>/dev/null; exec 2>&1; `

// TestIntegrationSandboxBuilds runs builds in a sandbox with an empty home, as the container's Makefile would.
func TestIntegrationSandboxBuilds(t *testing.T) {
	t.Parallel() // most of it is waiting
	h := newHost(t, false)
	if !sandboxed(t, h) {
		return
	}
	c := h.Holding(t, "--proxy", "bash=/bin/bash,where=sandbox")
	t.Run("all", func(t *testing.T) {
		for i, b := range sandboxBuilds {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				dir := "build" + itoa(i)
				h.mkdir(t, filepath.Join(h.Work, dir))
				check(t, os.Chmod(filepath.Join(h.Work, dir), 0o777))
				r := c.Long(t, `bash -ec "$1"`, "cd "+dir+"; "+b.script)
				if last := r.Out[strings.LastIndex(strings.TrimSuffix(r.Out, "\n"), "\n")+1:]; r.Code != 0 || last != b.want+"\n" {
					t.Errorf("%v, want %q", r, b.want)
				}
			})
		}
	})
}
