// SPDX-License-Identifier: Apache-2.0

// Package gitpush lets git in a container fetch from a remote repository and push to it with the host's credentials.
//
//	container's git --pack--> quarantine --approved--> git push, with the host's credentials --> remote
//	                <--pack-- mirror <---------------- git fetch ---------------------------------'
//
// The container's git has its own repository. It speaks the pack protocol (gitprotocol-pack(5)) to this package,
// through the remote helper git-remote-hostexec (gitremote-helpers(7)). The mirror is a bare repository of the host. It
// has the branches and tags of one remote, and nothing of a container. The objects that a container sends stay in a
// quarantine, a directory that is removed after the call. A first git checks the quarantine. It has only the mirror's
// configuration and hostexec's settings. It runs in a sandbox without a network if the system has sandboxes, and git is
// a program of the system. Otherwise only settings of git forbid the network. After the approval, a second git pushes
// from the quarantine, with the user's configuration. The package never opens a repository of the workspace. It does
// not decide which updates may be pushed: Authorize does.
package gitpush

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/docker-hostexec/hostexec/exec/executor"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// Runner runs the host's git.
type Runner interface {
	Run(context.Context, executor.Command, executor.Streams) (executor.Status, error)
}

// Authorize decides on one update, and records the decision. If the update may be pushed, Authorize returns the
// function that records its end. Otherwise the error gives the reason, in words for the caller.
type Authorize func(ctx context.Context, u Update) (ended func(code int), err error)

// Call is one call of the remote helper. It has many fields, because each is a parameter of the call.
type Call struct {
	Runner
	ID        string // of the request
	Git       string // the host's git, absolute
	Env       []string
	Remote    Remote
	Dir       string // for mirrors; private
	MaxPack   int64  // bytes that a push may send; 0: DefaultMaxPack
	Authorize Authorize

	maxCPU    time.Duration // of each git that reads the container's objects; 0: defaultMaxCPU
	maxOutput int           // of a confined git, in bytes; 0: defaultMaxOutput
}

// DefaultMaxPack is the default limit for the pack of a push, in bytes.
const DefaultMaxPack = 512 << 20

// exitFatal is the exit code of git and its remote helpers after a fatal error.
const exitFatal = 128

// Serve speaks to the container's git by in and out until that git has ended, and returns the exit code of the helper.
// It writes messages about failures to stderr. An error means that ctx has ended.
func (c *Call) Serve(ctx context.Context, in io.ReadCloser, out, stderr io.Writer) (code int, err error) {
	s := &service{Call: c, in: in, out: out, stderr: stderr}
	service, err := readCommands(in, out)
	if err == nil {
		switch service {
		case "":
		case uploadPack:
			err = s.upload(ctx)
		case receivePack:
			err = s.receive(ctx)
		default:
			err = fmt.Errorf("%s is not served", names.Quoted(service))
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return exitFatal, cause
	}
	if err != nil && !errors.Is(err, errReported) {
		fmt.Fprintf(stderr, "hostexec: %s: %s\n", c.Remote.Name, names.Plain(err.Error()))
	}
	if err != nil {
		return exitFatal, nil
	}
	return 0, nil
}

// service is a Call with its streams.
type service struct {
	*Call
	in     io.ReadCloser
	out    io.Writer
	stderr io.Writer
	mirror *mirror
}

// errReported means that the caller has got a message already.
var errReported = errors.New("it was reported")

// connect makes the mirror equal to the remote, and tells the container's git that the connection is established.
func (s *service) connect(ctx context.Context) (err error) {
	if s.mirror, err = s.openMirror(ctx); err != nil {
		return err
	}
	_, err = io.WriteString(s.out, "\n")
	return err
}

// upload sends objects of the mirror.
func (s *service) upload(ctx context.Context) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	st, err := s.confined(ctx, "", executor.Streams{FD: noFiles, In: s.in, Out: s.out, Err: s.stderr},
		"-c", "uploadpack.allowFilter=true", "-c", "uploadpack.allowAnySHA1InWant=true", "upload-pack", "--strict", s.mirror.dir)
	if err == nil && st.Code != 0 {
		err = errReported // by git
	}
	return err
}
