// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The images, none of which needs a registry. They stay in the engine, under the hash of
// what is in them, so that the next run finds them:
//
//	full     bash, coreutils, less, su, script of this machine, with their libraries
//	busybox  one static busybox and its links; what Debian's busybox-static installs
//	empty    nothing but the probe: FROM scratch, without PATH
//	user     busybox, whose commands run as its user, by name
//	git      full, and git
//	node     busybox with stand-ins for apt-get and npm, and an npx that is an agent
//	peers    full, and the programs of other ways to call, as far as this machine has them
//	agents   busybox with an npm and a pip that install the agent of testdata/agent.sh
//
// All have /probe, which is static.
var images struct {
	sync.Mutex
	refs map[string]string
}

var recipes = map[string]func(testing.TB) *rootfs{"full": fullImage, "busybox": busyboxImage, "empty": emptyImage, "user": userImage, "node": nodeImage, "git": gitImage, "agents": agentsImage, "peers": peersImage}

// image returns the reference of one of the images, which it makes if need be.
func image(t testing.TB, name string) string {
	t.Helper()
	images.Lock()
	defer images.Unlock()
	if ref, ok := images.refs[name]; ok {
		return ref
	}
	fs := recipes[name](t)
	data := fs.pack(t)
	sum := sha256.Sum256(append(data, strings.Join(fs.changes, "\n")...))
	ref := "hostexec-e2e/" + name + ":" + hex.EncodeToString(sum[:6])
	if exec.Command("docker", "image", "inspect", ref).Run() != nil {
		load(t, ref, data, fs.changes)
	}
	if images.refs == nil {
		images.refs = map[string]string{}
	}
	images.refs[name] = ref
	return ref
}

// load has the person's own engine, which is not the tests', make an image.
func (h *Host) load(t testing.TB, fs *rootfs, ref string) {
	t.Helper()
	args := []string{"import"}
	for _, c := range fs.changes {
		args = append(args, "--change", c)
	}
	if r := h.feed(t, string(fs.pack(t)), "docker", append(args, "-", ref)...); r.Code != 0 {
		t.Fatalf("import an image into another engine: %v", r)
	}
}

func load(t testing.TB, ref string, data []byte, changes []string) {
	t.Helper()
	args := []string{"import"}
	for _, c := range changes {
		args = append(args, "--change", c)
	}
	cmd := exec.Command("docker", append(args, "-", ref)...)
	cmd.Stdin = bytes.NewReader(data)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("docker import %s: %v: %s (is the engine running?)", ref, err, out)
	}
}

// rootfs is an image in the making.
type rootfs struct {
	files   map[string]file // by absolute path; their directories come by themselves
	changes []string        // Dockerfile instructions
}

type file struct {
	data []byte
	link string // a symbolic link's target
	mode int64
}

// newRootfs makes the files that every image has: the probe and the users.
func newRootfs(t testing.TB) *rootfs {
	fs := &rootfs{files: map[string]file{}}
	fs.copy(t, probePath(t), "/probe")
	fs.text("/etc/passwd", "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/:/bin/sh\n")
	fs.text("/etc/group", "root:x:0:\nuser:x:1000:\n")
	return fs
}

func (fs *rootfs) text(path, text string) { fs.files[path] = file{data: []byte(text), mode: 0o644} }

func (fs *rootfs) link(path, target string) { fs.files[path] = file{link: target, mode: 0o777} }

// copy takes over a file of the host's, through links, as it is executable or not.
func (fs *rootfs) copy(t testing.TB, src, path string) {
	t.Helper()
	data, err := os.ReadFile(src)
	check(t, err)
	fi, err := os.Stat(src)
	check(t, err)
	fs.files[path] = file{data: data, mode: int64(fi.Mode().Perm())}
}

var library = regexp.MustCompile(`(?m)^\s*(?:\S+ => )?(/\S+) \(0x`)

// program takes over a program of the host's, with the libraries that ldd(1) names.
func (fs *rootfs) program(t testing.TB, name string) {
	t.Helper()
	src := find(t, name)
	fs.copy(t, src, "/bin/"+name)
	fs.libraries(t, src)
}

func (fs *rootfs) libraries(t testing.TB, src string) {
	t.Helper()
	out, _ := exec.Command("ldd", src).Output() // fails for a static program, which needs none
	for _, m := range library.FindAllStringSubmatch(string(out), -1) {
		fs.copy(t, m[1], m[1])
	}
}

// pack writes the archive of one file in dir that docker build reads.
func (fs *rootfs) pack(t testing.TB) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	dirs := map[string]bool{"/": true}
	check(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}))
	for _, path := range slices.Sorted(maps.Keys(fs.files)) {
		fs.packDirs(t, w, dirs, filepath.Dir(path))
		f := fs.files[path]
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path[1:], Mode: f.mode, Size: int64(len(f.data))}
		if f.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		}
		check(t, w.WriteHeader(h))
		_, err := w.Write(f.data)
		check(t, err)
	}
	check(t, w.Close())
	return buf.Bytes()
}

func (fs *rootfs) packDirs(t testing.TB, w *tar.Writer, have map[string]bool, dir string) {
	if have[dir] {
		return
	}
	have[dir] = true
	fs.packDirs(t, w, have, filepath.Dir(dir))
	check(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir[1:] + "/", Mode: 0o755}))
}

func emptyImage(t testing.TB) *rootfs {
	fs := newRootfs(t)
	fs.changes = []string{`ENTRYPOINT ["/probe"]`}
	return fs
}

func busyboxImage(t testing.TB) *rootfs {
	fs := newRootfs(t)
	src := find(t, "busybox")
	fs.copy(t, src, "/bin/busybox")
	out, err := exec.Command(src, "--list").Output()
	check(t, err)
	for _, applet := range strings.Fields(string(out)) {
		if applet != "busybox" {
			fs.link("/bin/"+applet, "busybox")
		}
	}
	fs.changes = []string{`CMD ["sh"]`, "ENV PATH=" + imagePath}
	return fs
}

func userImage(t testing.TB) *rootfs {
	fs := busyboxImage(t)
	fs.changes = append(fs.changes, "USER user")
	return fs
}

func nodeImage(t testing.TB) *rootfs {
	fs := busyboxImage(t)
	for name, script := range map[string]string{
		"apt-get": `echo "$0 $*" >>/installed`, "npm": `echo "$0 $*" >>/installed`, "npx": `echo "$0 $*" >&2; exec /probe agent`,
	} {
		fs.files["/usr/bin/"+name] = file{data: []byte("#!/bin/sh\n" + script + "\n"), mode: 0o755}
	}
	return fs
}

func agentsImage(t testing.TB) *rootfs {
	fs := busyboxImage(t)
	fs.files["/agent.sh"] = file{data: readFile(t, "testdata/agent.sh"), mode: 0o755}
	for name, packages := range map[string]string{"npm": "*/claude-code) name=claude ;; */codex) name=codex ;;", "pip": "aider-chat) name=aider ;;"} {
		script := "for package; do :; done; case $package in " + packages + " *) exit 1 ;; esac; mkdir -p /usr/local/bin; ln -s /agent.sh /usr/local/bin/$name\n"
		fs.files["/bin/"+name] = file{data: []byte("#!/bin/sh\n" + script), mode: 0o755}
	}
	return fs
}

const imagePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// local is where the full image has programs of its own under the names of the host's, so
// that what tests want can be held against what is.
const local = "/local"

// debianProfile is what Debian's /etc/profile begins with: a login shell forgets PATH.
const debianProfile = `if [ "$(id -u)" -eq 0 ]; then
  PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
else
  PATH="/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
fi
export PATH
`

func fullImage(t testing.TB) *rootfs {
	fs := newRootfs(t)
	for _, name := range strings.Fields("bash sh cat ls env head tail tee sleep true false stty tty seq wc id mkfifo dd tr rm mkdir rmdir touch " +
		"yes printf base64 readlink sort uniq less setsid script su timeout nohup grep cp mv ln chmod mknod truncate") {
		fs.program(t, name)
	}
	for name, path := range map[string]string{"hsh": "/bin/sh", "hcat": "/bin/cat", "htee": "/bin/tee", "hbash": "/bin/bash", "hp": "/probe", "htrue": "/bin/true", "htty": "/bin/tty", "hstty": "/bin/stty", "hless": "/bin/less"} {
		fs.link(local+"/"+name, path)
	}
	fs.text("/etc/profile", debianProfile)
	fs.files["/etc/login.defs"] = file{mode: 0o644}
	fs.terminals(t)
	fs.pam(t)
	fs.changes = []string{`CMD ["bash"]`, "ENV PATH=" + imagePath}
	return fs
}

func gitImage(t testing.TB) *rootfs {
	fs := fullImage(t)
	fs.program(t, "git")
	return fs
}

// terminals takes over what less(1) has to know of a terminal.
func (fs *rootfs) terminals(t testing.TB) {
	t.Helper()
	for _, dir := range []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"} {
		if _, err := os.Stat(dir + "/x/xterm"); err == nil {
			fs.copy(t, dir+"/x/xterm", "/usr/share/terminfo/x/xterm")
			return
		}
	}
	t.Fatal("this host has no terminfo of xterm: install ncurses-base or what your distribution calls it")
}

// pam lets root become anybody by su(1), whose modules ldd does not see.
func (fs *rootfs) pam(t testing.TB) {
	t.Helper()
	for path := range maps.Clone(fs.files) {
		if !strings.HasPrefix(filepath.Base(path), "libpam.so") {
			continue
		}
		for _, module := range []string{"pam_rootok.so", "pam_permit.so"} {
			src := filepath.Join(filepath.Dir(path), "security", module)
			fs.copy(t, src, src)
			fs.libraries(t, src)
		}
	}
	rules := "auth sufficient pam_rootok.so\naccount required pam_permit.so\nsession required pam_permit.so\n"
	for _, service := range []string{"su", "su-l"} {
		fs.text("/etc/pam.d/"+service, rules)
	}
}

// TestIntegrationImages checks the prerequisites of the other tests with plain docker.
func TestIntegrationImages(t *testing.T) {
	tests := map[string][]string{
		"full":    {"su", "-", "user", "-c", "id -u; bash -c 'seq 3 | tail -1 | less'"},
		"busybox": {"sh", "-c", "echo 1000; seq 3 | tail -1"},
		"empty":   {"print", "1000", "3"},
	}
	for name, cmd := range tests {
		args := append([]string{"run", "--rm", "--label", runLabel, "--network", "none", image(t, name)}, cmd...)
		out, err := exec.Command("docker", args...).CombinedOutput()
		if err != nil || string(out) != "1000\n3\n" {
			t.Errorf("image %s: %v: %q", name, err, out)
		}
	}
}
