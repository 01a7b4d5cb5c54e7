// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"testing"

	"github.com/docker/docker/api/types/container"
)

// shown are mounts as a test reads them.
func shown(mounts []container.MountPoint) (all []string) {
	for _, m := range mounts {
		mode := "ro"
		if m.RW {
			mode = "rw"
		}
		all = append(all, fmt.Sprintf("%s %s:%s:%s", m.Type, m.Source, m.Destination, mode))
	}
	return all
}

// TestMountsOfVolumes shows a directory of the host's that is called a volume as what it is.
func TestMountsOfVolumes(t *testing.T) {
	m, err := Read([]byte(`
services:
  a:
    volumes:
      - {type: volume, source: state, target: /s, read_only: true}
      - {type: volume, source: plain, target: /p}
      - {type: volume, source: nfs, target: /n}
      - {type: volume, source: relative, target: /r}
      - {type: volume, source: overlay, target: /o}
      - {type: volume, source: other, target: /t}
      - {type: volume, target: /anonymous}
      - {type: bind, source: state, target: /b}
volumes:
  state: {name: p_state, driver_opts: {type: none, o: "rw,bind", device: /home/me/.docker}}
  plain: {}
  nfs: {driver_opts: {type: nfs, o: "addr=1.2.3.4", device: ":/x"}}
  relative: {driver_opts: {o: bind, device: x}}
  overlay: {driver_opts: {type: overlay, o: "lowerdir=/home/me/.docker:/usr"}}
  other: {driver: local-persist, driver_opts: {mountpoint: /home/me}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := "[bind /home/me/.docker:/s:ro volume plain:/p:rw volume nfs:/n:rw bind /x:/r:rw volume overlay:/o:rw bind /home/me/.docker::ro bind /usr::ro" +
		" volume other:/t:rw bind /home/me::rw volume :/anonymous:rw bind state:/b:rw]"
	if mounts, _ := m.Mounts("a"); fmt.Sprint(shown(mounts)) != want {
		t.Errorf("%s\nwant %s", shown(mounts), want)
	}
}

// TestMountsOfOthers has what a service gets by other keys than volumes.
//
// Attack 197.
func TestMountsOfOthers(t *testing.T) {
	for _, tt := range []struct{ name, web, want, lenders string }{
		{"a secret", "secrets: [{source: s, target: /run/secrets/s}]", "[bind /key:/run/secrets/s:ro]", "[]"},
		{"one that says no place", "secrets: [{source: s}]", "[bind /key:/run/secrets/s:ro]", "[]"},
		{"one that is no file", "secrets: [{source: env, target: /e}]", "[]", "[]"},
		{"a config", "configs: [{source: c}, {source: c, target: x}, {source: inline}]", "[bind /conf:/c:ro bind /conf:/x:ro]", "[]"},
		{"another service's", "volumes_from: [other]", "[bind /state:/s:rw volume v:/v:rw bind /state::ro bind /far:/f:rw]", "[{foreign true} {far false}]"},
		{"another's, read-only", "volumes_from: ['other:ro']", "[bind /state:/s:ro volume v:/v:ro bind /state::ro bind /far:/f:ro]", "[{foreign true} {far true}]"},
		{"another's, where it has its own", "volumes: [{type: bind, source: /own, target: /s/}, {type: tmpfs, target: /v}]\n    volumes_from: ['other:rw']",
			"[bind /own:/s/:rw tmpfs :/v:rw bind /far:/f:rw]", "[{foreign true} {far false}]"},
		{"a container's", "volumes_from: ['container:foreign:ro', 'container:second']", "[]", "[{foreign true} {second false}]"},
		{"itself", "volumes_from: [web]", "[]", "[]"},
		{"the engine's socket", "use_api_socket: true", "[bind /var/run/docker.sock:/var/run/docker.sock:rw]", "[]"},
		{"what watch copies", "develop: {watch: [{path: /state, action: sync+restart, target: /s}, {path: /b, action: rebuild}]}", "[bind /state::ro]", "[]"},
	} {
		m, err := Read([]byte("services:\n  web:\n    " + tt.web + `
  other:
    volumes: [{type: bind, source: /state, target: /s}, {type: volume, source: v, target: /v}]
    volumes_from: ["container:foreign:ro", far]
    develop: {watch: [{path: /state, action: sync, target: /s}]}
  far: {volumes: [{type: bind, source: /far, target: /f}], volumes_from: ["container:far", other]}
volumes: {v: {driver_opts: {type: overlay, o: lowerdir=/state}}}
secrets: {s: {file: /key}, env: {environment: HOME}}
configs: {c: {file: /conf}, inline: {content: x}}
`))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		mounts, lenders := m.Mounts("web")
		if fmt.Sprint(shown(mounts)) != tt.want || fmt.Sprint(lenders) != tt.lenders {
			t.Errorf("%s: %s, %v\nwant %s, %s", tt.name, shown(mounts), lenders, tt.want, tt.lenders)
		}
	}
}
