// SPDX-License-Identifier: Apache-2.0

package limit

// Reservation is the part of the limit Spool that one file uses. Only one goroutine at a time may use a
// Reservation.
type Reservation struct {
	From *Session
	n    int64
}

// Amount returns the amount in use.
func (r *Reservation) Amount() int64 { return r.n }

// Set changes the amount to n. If that exceeds the limit, Set returns an *Error and the amount is
// unchanged.
func (r *Reservation) Set(n int64) error {
	if n > r.n {
		if err := r.From.Acquire(Spool, n-r.n); err != nil {
			return err
		}
	} else if n < r.n {
		r.From.Release(Spool, r.n-n)
	}
	r.n = n
	return nil
}

// Force changes the amount to n even if that exceeds the limit, because the file has this size already.
func (r *Reservation) Force(n int64) {
	r.From.Release(Spool, r.n-n)
	r.n = n
}
