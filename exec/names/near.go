// SPDX-License-Identifier: Apache-2.0

package names

// maxNear is the length of the longest word that is compared, because a longer word is not a typing
// error.
const maxNear = 64

// Near returns the word that a person may have meant by typed, or "". A short word may contain one
// typing error, other words two. An error is a missing, additional or different letter, or two
// swapped letters.
func Near(typed string, words []string) (near string) {
	most := 2
	if len(typed) < 6 {
		most = 1
	}
	if len(typed) > maxNear {
		return ""
	}
	for _, w := range words {
		if len(w) > maxNear {
			continue
		}
		if d := editDistance(typed, w); d <= most && d < len(w) {
			near, most = w, d-1
		}
	}
	return near
}

// editDistance returns the number of typing errors between a and b: the optimal string alignment distance.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			other := 1
			if a[i-1] == b[j-1] {
				other = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
