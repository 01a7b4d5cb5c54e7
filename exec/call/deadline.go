// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// timeoutVar is the variable of a caller that has the effect of --timeout. approvalTimeoutVar limits only
// how long the caller waits for a person.
const (
	timeoutVar         = "HOSTEXEC_TIMEOUT"
	approvalTimeoutVar = "HOSTEXEC_APPROVAL_TIMEOUT"
)

// errApprovalTimeout withdraws a question whose caller waits no longer for an answer.
var errApprovalTimeout = fmt.Errorf("its caller waits no longer for an answer: %w", approval.ErrWithdrawn)

// setDeadline sets the deadline of the call from the caller's time limit. The time counts from now, and
// includes the time in which a person is asked.
func (r *request) setDeadline() error {
	if text := osenv.Get(r.env, approvalTimeoutVar); text != "" {
		d, err := ParseTimeout(text)
		if err != nil {
			return fmt.Errorf("%s: %w: %s", approvalTimeoutVar, err, names.Printable(Truncate(text)))
		}
		r.approvalTimeout = d
	}
	name, text := "--timeout", r.timeout
	if text == "" {
		name, text = timeoutVar, osenv.Get(r.env, timeoutVar)
	}
	if text == "" {
		return nil
	}
	d, err := ParseTimeout(text)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, names.Printable(Truncate(text)))
	}
	if d > 0 {
		r.limit, r.deadline = d, time.Now().Add(d)
	}
	return nil
}

// ErrDuration means that a string is not a time limit.
var ErrDuration = errors.New("want a time such as 5s, 2m or 300")

// ParseTimeout reads a duration with its unit, or a number of seconds. 0 means no limit. It refuses other numbers that
// would be rounded to 0.
func ParseTimeout(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		seconds, err := strconv.ParseFloat(s, 64)
		if err != nil || !(seconds >= 0 && seconds <= math.MaxInt64/float64(2*time.Second)) {
			return 0, ErrDuration
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	if d < 0 || d == 0 && strings.ContainsAny(s, "123456789") {
		return 0, ErrDuration
	}
	return d, nil
}

// within returns a context that ends at the deadline of the caller; its cause is then errCallerDeadline. An
// empty notice tells the shim, which measures the time too, that the call is being ended. p is nil if no
// shim waits.
func (r *request) within(ctx context.Context, p *peer) (context.Context, context.CancelFunc) {
	if r.deadline.IsZero() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithDeadlineCause(ctx, r.deadline, errCallerDeadline)
	// ends when the shim has taken it, or with the connection.
	stop := context.AfterFunc(ctx, func() {
		if p != nil && errors.Is(context.Cause(ctx), errCallerDeadline) {
			p.send(wire.KindNotice, nil)
		}
	})
	return ctx, func() { stop(); cancel() }
}

// answerDelay is the time after its deadline for which a caller waits for the end of its command.
const answerDelay = time.Second

// answerInTime answers the caller answerDelay after its deadline. Its command may take longer to end, because it gets
// time between TERM and KILL. Call the returned function when the command has ended. It reports whether the caller has
// been answered.
func (x *exchange) answerInTime(within context.Context, rule string) (answered func() bool) {
	if x.req.deadline.IsZero() {
		return func() bool { return false } // saves a thousand calls half a MiB
	}
	ended, early := make(chan struct{}), make(chan bool, 1)
	// ends when the caller is answered, or when ended is closed; answered waits for it.
	stop := context.AfterFunc(within, func() {
		if !errors.Is(context.Cause(within), errCallerDeadline) {
			early <- false
			return
		}
		late := time.NewTimer(answerDelay)
		defer late.Stop()
		select {
		case <-late.C:
			early <- x.peer.end(callerDeadlineExceeded(x.req, rule)) == nil
		case <-ended:
			early <- false
		}
	})
	return func() bool {
		close(ended)
		return !stop() && <-early
	}
}

// waiting returns a context for asking a person. When the caller does not want to wait longer, its cause is
// errApprovalTimeout.
func (r *request) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.approvalTimeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, r.approvalTimeout, errApprovalTimeout)
}
