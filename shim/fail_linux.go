// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"syscall"

	"github.com/docker-hostexec/hostexec/shim/wire"
)

// fail writes to stderr why the shim ends the call, and returns code. The lines are a reason, an optional
// hint, and the same as JSON if HOSTEXEC_JSON=1. For a caller that reads an object, it writes that to stdout.
func (c *call) fail(code int, reason, hint string) int {
	text := "hostexec: " + reason + "\n"
	if hint != "" {
		text += "hostexec: hint: " + hint + "\n"
	}
	if variable(c.env, "HOSTEXEC_JSON") == "1" {
		text += failure(code, reason, hint)
	}
	writeAll(2, []byte(text))
	if begin := c.fallback.Load(); begin != nil {
		writeAll(1, []byte(*begin+`,"exit_code":`+decimal(code)+`,"error":`+quote(reason)+"}\n"))
	}
	return code
}

// decimal returns a code from 100 to 199 as digits.
func decimal(code int) string {
	return string([]byte{'1', byte('0' + code/10%10), byte('0' + code%10)})
}

// failure returns one line of JSON with the same fields as the host's (exec/call).
func failure(code int, reason, hint string) string {
	status := "failed"
	switch code {
	case wire.CodeRefused:
		status = "refused"
	case wire.CodeTimeout:
		status = "timeout"
	}
	return `{"status":"` + status + `","code":` + decimal(code) + `,"reason":` + quote(reason) + `,"rule":"","request":"","hint":` + quote(hint) + "}\n"
}

// quote returns s as a JSON string (RFC 8259, section 7), in printable ASCII. Each other byte becomes the
// character with its number.
//
//go:noinline
func quote(s string) string {
	const hex = "0123456789abcdef"
	b := []byte{'"'}
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '"' || ch == '\\':
			b = append(b, '\\', ch)
		case ch < ' ' || ch > '~':
			b = append(b, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
		default:
			b = append(b, ch)
		}
	}
	return string(append(b, '"'))
}

// variable returns the value of the first variable called name, as getenv(3) does.
//
//go:noinline
func variable(env []string, name string) string {
	for _, kv := range env {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:]
		}
	}
	return ""
}

// unanswered ends a call that could not connect to the host.
func (c *call) unanswered(err error) int {
	switch err {
	case errNoProcess:
		return c.fail(wire.CodeFailed, err.Error(), "have some of its processes end, or on the host: docker update --pids-limit N <container>")
	case errNoSpace:
		return c.fail(wire.CodeFailed, err.Error(), "remove files of the container; calls work again a few seconds later")
	case errCarrier:
		return c.hostLost(err)
	}
	return c.fail(wire.CodeFailed, "hostexec is not running on the host for this container: "+err.Error(), resumeHint)
}

// hostLost ends a call whose connection ended without an Exit message.
func (c *call) hostLost(err error) int {
	c.restore()
	if _, ok := err.(wire.Error); ok && err != errGone {
		return c.fail(wire.CodeFailed, "the host side was not understood: "+err.Error(),
			"start the container again, so that both sides are of one version")
	}
	return c.fail(wire.CodeFailed, "the host side went away: "+err.Error(), resumeHint)
}

const resumeHint = "docker hostexec resume <container> on the host; docker hostexec service install automates that"

// broken ends the call after a failed write, as for a local writer. Closing the connection ends the
// command. On EPIPE the shim dies of SIGPIPE.
func (c *call) broken(u unwritable) int {
	if f := c.files.Load(); f != nil {
		f.leave("PIPE")
	} else {
		syscall.Close(c.host.fd)
	}
	c.restore()
	if u.errno == syscall.EPIPE {
		return die(syscall.SIGPIPE)
	}
	name := "stdout"
	if u.fd == 2 {
		name = "stderr"
	}
	return c.fail(wire.CodeFailed, "write to "+name+": "+u.errno.Error(), "")
}
