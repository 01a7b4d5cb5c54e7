// SPDX-License-Identifier: Apache-2.0

package limit

// Hold is how much of Kind one thing holds, such as a file. It is one goroutine's at a time.
type Hold struct {
	From *Session
	Kind Kind
	n    int64
}

// Amount is how much it holds.
func (h *Hold) Amount() int64 { return h.n }

// Set has it hold n. The error is an *Error when that would be too much; then it holds what it held.
func (h *Hold) Set(n int64) error {
	if n > h.n {
		if err := h.From.Take(h.Kind, n-h.n); err != nil {
			return err
		}
	} else if n < h.n {
		h.From.Give(h.Kind, h.n-n)
	}
	h.n = n
	return nil
}

// Charge is Set of what is there already, be it too much.
func (h *Hold) Charge(n int64) {
	h.From.Give(h.Kind, h.n-n)
	h.n = n
}
