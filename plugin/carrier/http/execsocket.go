// SPDX-License-Identifier: Apache-2.0

package http

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/shim/wire"
)

// ExecSocket is the carrier for tools of this host. A tool connects to a unix socket, writes one request as a line of
// JSON, and reads one answer. The listener of the socket decides who may connect.
//
// It is a net.Listener whose connections are calls. A tool's request is decided as if the container had made it.
type ExecSocket struct {
	*callMaker
	options SocketOptions
	ln      *carrier.ConnLimiter
	loop    sync.WaitGroup
}

// SocketOptions are the options of an ExecSocket. A request must have both secrets, which are checked in this order.
type SocketOptions struct {
	Secret, Token string
	// Cwd returns the path in the container of workdir, a directory of this host. The error is ErrNoWorkdir if the
	// container does not have it, or the reason why no call can be made.
	Cwd func(workdir string) (cwd string, err error)
}

// ErrNoWorkdir means that a session does not have a directory of the host.
var ErrNoWorkdir = errors.New("the session does not have this directory")

// ListenExecSocket answers the requests that arrive at ln. dir is a private directory for output. Close ends it.
func ListenExecSocket(ln net.Listener, dir string, options SocketOptions) *ExecSocket {
	l := &ExecSocket{callMaker: newCallMaker(dir), options: options, ln: &carrier.ConnLimiter{Listener: ln}}
	// ends when ln is closed; Close waits for it.
	l.loop.Go(l.accept)
	return l
}

func (l *ExecSocket) accept() {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := l.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example, no descriptors are left
			time.Sleep(50 * time.Millisecond)
			continue
		}
		// ends with the connection, or with the call, which ends at the latest with its server.
		all.Go(func() { l.serve(conn.(*carrier.LimitedConn)) })
	}
}

// Close accepts no more requests, and returns when the accepted requests have their answers. Their server must end
// them.
func (l *ExecSocket) Close() error {
	l.end()
	err := l.ln.Close()
	l.loop.Wait()
	return err
}

// execRequest is a request.
type execRequest struct {
	Secret    string            `json:"secret"`
	Token     string            `json:"token"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Workdir   string            `json:"workdir"`
	Env       map[string]string `json:"env"`
	TimeoutMs int64             `json:"timeout_ms"`
}

var errNoLine = errors.New("invalid request: want one line of JSON")

// statusCompleted is the status of an answer of ExecSocket after its command has run. Otherwise, the status is
// statusTimeout or statusError.
const statusCompleted = "completed"

// serve answers one request.
func (l *ExecSocket) serve(conn *carrier.LimitedConn) {
	defer conn.Close()
	exec, why := l.readRequest(conn)
	if why != "" {
		l.refuse(conn, why)
	}
	if len(exec.Args) == 0 {
		return
	}
	conn.MarkAuthenticated()
	if !l.enter() {
		l.refuse(conn, "too many requests at a time")
		return
	}
	defer l.leave()
	l.answer(conn, exec)
}

// readRequest reads a request, or returns why it is refused. If both are empty, the client closed the connection.
func (l *ExecSocket) readRequest(conn net.Conn) (exec wire.Exec, refusal string) {
	conn.SetReadDeadline(time.Now().Add(headerTimeout))
	line, err := bufio.NewReader(io.LimitReader(conn, maxBody)).ReadBytes('\n')
	switch {
	case err == nil:
		conn.SetReadDeadline(time.Time{})
		return l.parse(line)
	case len(line) > 0:
		refusal = "invalid request: it does not end with a newline, or has more than " + strconv.Itoa(maxBody) + " bytes"
	}
	return exec, refusal
}

// answer makes the call and writes its result.
func (l *ExecSocket) answer(conn *carrier.LimitedConn, exec wire.Exec) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	defer watching.Wait()
	defer conn.SetReadDeadline(time.Unix(1, 0))
	defer cancel()
	// ends when the caller hangs up, or with ctx and the deadline above.
	watching.Go(func() { notifyHangup(ctx, conn.Conn, cancel) })
	r := l.call(ctx, exec)
	defer r.close()
	written := make(chan struct{})
	defer close(written)
	conn.SetWriteDeadline(time.Now().Add(readTimeout))
	// ends with the answer. When the session ends, a tool has little time left to read its answer.
	watching.Go(func() {
		select {
		case <-l.Done():
			conn.SetWriteDeadline(time.Now().Add(closeTimeout))
		case <-written:
		}
	})
	writeExec(conn, r)
}

// parse parses a request, or returns why it is refused.
func (l *ExecSocket) parse(line []byte) (exec wire.Exec, refusal string) {
	var req execRequest
	if err := names.DecodeJSON(line, &req); err != nil {
		return exec, errInvalid(err, errNoLine).Error()
	}
	if !sameSecret(req.Secret, l.options.Secret) {
		return exec, "invalid secret"
	}
	if !sameSecret(req.Token, l.options.Token) {
		return exec, "invalid token"
	}
	cwd, err := l.options.Cwd(req.Workdir)
	switch {
	case errors.Is(err, ErrNoWorkdir):
		return exec, "workdir mismatch: " + strconv.QuoteToASCII(req.Workdir) + " is not a directory of the session"
	case err != nil:
		return exec, err.Error()
	}
	call := wire.Exec{Cwd: cwd}
	if err := req.setCommand(&call); err != nil {
		return exec, "invalid request: " + err.Error()
	}
	if err := checkArgs(append(call.Args, call.Env...)); err != nil {
		return exec, err.Error()
	}
	return call, ""
}

// setCommand sets the command of exec.
func (req *execRequest) setCommand(exec *wire.Exec) (err error) {
	exec.Args = append([]string{req.Command}, req.Args...)
	if req.Args == nil {
		if exec.Args, err = splitWords(req.Command); err != nil {
			return err
		}
	}
	if len(exec.Args) == 0 || exec.Args[0] == "" {
		return errors.New("command is required")
	}
	for name, value := range req.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.HasPrefix(name, "HOSTEXEC_") {
			return errors.New(strconv.QuoteToASCII(name) + " is not the name of a variable")
		}
		exec.Env = append(exec.Env, name+"="+value)
	}
	switch {
	case req.TimeoutMs < 0 || req.TimeoutMs > int64(maxTimeout/time.Millisecond):
		return errors.New("timeout_ms is not a time")
	case req.TimeoutMs > 0:
		exec.Env = append(exec.Env, "HOSTEXEC_TIMEOUT="+strconv.FormatInt(req.TimeoutMs, 10)+"ms")
	}
	return nil
}

// maxTimeout is more than any caller needs, and less than a time.Duration can hold.
const maxTimeout = 10 * 365 * 24 * time.Hour

func (l *ExecSocket) refuse(conn net.Conn, why string) {
	conn.SetWriteDeadline(time.Now().Add(headerTimeout))
	writeObject(conn, jsonField{"status", statusError}, jsonField{"exit_code", wire.CodeFailed}, jsonField{"error", why})
}

// writeExec writes the result of a call. An error means that the client has hung up.
func writeExec(w io.Writer, r *reply) {
	a := r.result()
	switch a.status {
	case statusApproved, statusAutoApproved:
		a.status = statusCompleted
	case statusDenied:
		a.status, a.reason = statusError, "Command denied: "+a.reason
	}
	writeObject(w, jsonField{"status", a.status}, jsonField{"exit_code", a.code}, jsonField{"stdout", r.out}, jsonField{"stderr", r.err},
		jsonField{"error", a.reason}, jsonField{"truncated", r.out.truncated || r.err.truncated})
}
