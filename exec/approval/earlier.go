// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"strings"
)

// Earlier counts the earlier requests with the same digest since the watcher started, and a person's answers to them.
// The rest was withdrawn, or nobody answered. It is a JSON object of the API in docs/api.md.
type Earlier struct {
	Asked    int `json:"asked"`
	Approved int `json:"approved"`
	Denied   int `json:"denied"`
}

// Plus returns the sum of e and other.
func (e Earlier) Plus(other Earlier) Earlier {
	return Earlier{e.Asked + other.Asked, e.Approved + other.Approved, e.Denied + other.Denied}
}

// String describes e, as in "asked 3 times: 2 approved, 1 denied". It is empty if there were no earlier requests.
func (e Earlier) String() string {
	if e.Asked == 0 {
		return ""
	}
	var answers []string
	for _, a := range []struct {
		n    int
		name string
	}{{e.Approved, "approved"}, {e.Denied, "denied"}, {e.Asked - e.Approved - e.Denied, "unanswered"}} {
		if a.n > 0 {
			answers = append(answers, fmt.Sprintf("%d %s", a.n, a.name))
		}
	}
	times := "once"
	if e.Asked > 1 {
		times = fmt.Sprintf("%d times", e.Asked)
	}
	return "asked " + times + ": " + strings.Join(answers, ", ")
}

// maxEarlier limits the number of questions that are counted, because a container chooses how many differ.
const maxEarlier = 1000

// counts are the requests of a session by digest, including those that wait. The queue's mu guards them.
type counts map[string]*Earlier

// asked counts a new request.
func (c counts) asked(digest string) {
	if e := c[digest]; e != nil {
		e.Asked++
		return
	}
	if len(c) >= maxEarlier {
		c.drop()
	}
	c[digest] = &Earlier{Asked: 1}
}

// drop removes the counts of one question, if possible of one that nobody answered.
func (c counts) drop() {
	any := ""
	for digest, e := range c {
		any = digest
		if e.Approved+e.Denied == 0 {
			break
		}
	}
	delete(c, any)
}

// answered counts an answer.
func (c counts) answered(digest string, outcome Outcome) {
	e := c[digest]
	if e == nil { // dropped meanwhile
		return
	}
	switch outcome {
	case Approved:
		e.Approved++
	case Denied:
		e.Denied++
	}
}

// before returns the counts of digest without the requests that wait now.
func (c counts) before(digest string, waiting int) Earlier {
	e := c[digest]
	if e == nil {
		return Earlier{}
	}
	return Earlier{Asked: max(0, e.Asked-waiting), Approved: e.Approved, Denied: e.Denied}
}
