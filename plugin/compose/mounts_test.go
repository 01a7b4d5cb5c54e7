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
	if got := fmt.Sprint(shown(m.Mounts("a"))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
