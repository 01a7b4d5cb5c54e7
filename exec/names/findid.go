// SPDX-License-Identifier: Apache-2.0

package names

import "strings"

// FindID returns the elements of all that ref may mean: only the element whose id is ref, or else every element whose
// id begins with ref. It returns the first element of each id. An empty ref means nothing.
func FindID[T any](all []T, id func(T) string, ref string) (hits []T) {
	seen := map[string]bool{}
	for _, one := range all {
		switch i := id(one); {
		case ref == "" || !strings.HasPrefix(i, ref) || seen[i]:
		case i == ref:
			return []T{one}
		default:
			seen[i] = true
			hits = append(hits, one)
		}
	}
	return hits
}
