// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"net"
	"os"
)

// Dial connects to the unix socket name in dir. It uses /proc because dir's path may be too long: sun_path
// holds only 108 bytes (unix(7)).
func Dial(dir, name string) (*net.UnixConn, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name)})
}
