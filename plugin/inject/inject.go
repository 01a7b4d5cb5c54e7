// SPDX-License-Identifier: Apache-2.0

// Package inject describes the changes to a container that let its programs find the host's commands: a read-only
// mount, labels, and a PATH that begins with /run/hostexec/bin. The PATH ends with /run/hostexec/rules if there are
// commands that only have rules. Links in /usr/local/bin are for login shells, which reset PATH.
//
//	/run/hostexec            the session's share, read-only
//	    bin/hostexec         the shim, static, of the engine's architecture
//	    bin/make             -> hostexec, one link for each command
//	    rules/gh             -> ../bin/hostexec, one link for each command that only has rules
//	/usr/local/bin/make      -> /run/hostexec/bin/make
//
// The package must not hide files that the image or the user has put into these directories. It describes changes and
// fills the share; plugin/launch sends requests to the engine.
package inject

import (
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Target is the mount point of the share in the container. The shim contains the same path.
const Target = state.Target

// Bin is the directory of the commands in a container.
const Bin = Target + "/bin"

// Rules is the directory of the commands that only have rules. It is the last one in PATH: rules apply to
// all containers, and a program in the container has precedence over them.
const Rules = Target + "/" + rules

// Shim is the name of the shim. It is also a command.
const Shim = "hostexec"

// The labels of a session's container.
const (
	LabelSession  = state.Label
	LabelVersion  = "io.hostexec.version"
	LabelCommands = "io.hostexec.commands"
)

// ShareMount returns the mount of a session's share. It is a Mount and not a Bind: for a Bind, the engine
// creates a missing source as root when the container restarts.
func ShareMount(share string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: share, Target: Target, ReadOnly: true}
}

// VolumeMount returns the mount of a volume in place of the share.
func VolumeMount(name string, readOnly bool) mount.Mount {
	return mount.Mount{Type: mount.TypeVolume, Source: name, Target: Target, ReadOnly: readOnly}
}

// RelayMount returns the mount for the relay's socket. Every user in the container may connect, and only
// root can replace the socket.
func RelayMount() mount.Mount {
	const size = 64 << 10 // bytes; it holds only a socket
	return mount.Mount{Type: mount.TypeTmpfs, Target: Target + "/relay", TmpfsOptions: &mount.TmpfsOptions{SizeBytes: size, Mode: 0o755}}
}

// TargetRequests is the directory where a container writes requests as files. It is writable.
const TargetRequests = Target + "/proxy"

// RequestsMount returns the mount of dir, a session's directory of requests, at TargetRequests. It is below the share's
// mount, which the engine mounts first.
func RequestsMount(dir string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: dir, Target: TargetRequests}
}

// Labels returns the labels that rec's container gets.
func Labels(rec *state.Session) map[string]string {
	return map[string]string{LabelSession: rec.ID, LabelVersion: rec.Version, LabelCommands: strings.Join(rec.Names(), ",")}
}

// DefaultPath is the engine's PATH for an image without PATH.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Path returns the PATH that env sets. PATH without = removes the image's.
func Path(env []string) (path string, set bool) {
	path, assigned, listed := variable(env, "PATH")
	if listed && !assigned {
		path = DefaultPath
	}
	return path, listed
}

// variable returns the value of a variable in env. As in the engine, the last entry counts, and a name without =
// removes the image's variable.
func variable(env []string, name string) (value string, assigned, listed bool) {
	for _, kv := range slices.Backward(env) {
		if key, value, assigned := strings.Cut(kv, "="); key == name {
			return value, assigned, true
		}
	}
	return "", false, false
}

// Env returns a copy of env in which PATH is WithShimDirs(path, hasRules).
func Env(env []string, path string, hasRules bool) []string {
	return osenv.Set(env, "PATH="+WithShimDirs(path, hasRules))
}

// WithShimDirs returns path with Bin in front and, if hasRules is set, Rules at the end. A path may have them
// already if the image was committed from such a container. An empty path gets no colon, because a
// trailing colon would mean the current directory.
func WithShimDirs(path string, hasRules bool) string {
	switch {
	case path == "":
		path = Bin
	case path == Bin, strings.HasPrefix(path, Bin+":"):
	default:
		path = Bin + ":" + path
	}
	if hasRules && !strings.HasSuffix(path, ":"+Rules) {
		path += ":" + Rules
	}
	return path
}
