// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// ParseMountinfo parses the text of a mountinfo file. A line that it cannot parse is an error, because an unknown mount
// could show any file.
func ParseMountinfo(text string) (all []Info, err error) {
	list, err := mountinfo.GetMountsFromReader(strings.NewReader(text), nil)
	for _, m := range list {
		dev := strconv.Itoa(m.Major) + ":" + strconv.Itoa(m.Minor)
		readOnly := slices.Contains(strings.Split(m.Options, ","), "ro")
		all = append(all, Info{m.ID, m.Parent, dev, m.Root, m.Mountpoint, readOnly})
	}
	return all, err
}
