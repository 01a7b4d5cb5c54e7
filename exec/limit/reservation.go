// SPDX-License-Identifier: Apache-2.0

package limit

// Reservation is the part of the limit Spool that one file uses. Only one goroutine at a time may use a
// Reservation.
type Reservation struct {
	From *Session
	n    int64
}

// Amount returns the amount in use.
func (h *Reservation) Amount() int64 { return h.n }

// Set changes the amount to n. If that exceeds the limit, Set returns an *Error and the amount is
// unchanged.
func (h *Reservation) Set(n int64) error {
	if n > h.n {
		if err := h.From.Take(Spool, n-h.n); err != nil {
			return err
		}
	} else if n < h.n {
		h.From.Give(Spool, h.n-n)
	}
	h.n = n
	return nil
}

// Force changes the amount to n even if that exceeds the limit, because the object exists already.
func (h *Reservation) Force(n int64) {
	h.From.Give(Spool, h.n-n)
	h.n = n
}
