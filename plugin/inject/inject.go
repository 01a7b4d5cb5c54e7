// SPDX-License-Identifier: Apache-2.0

// Package inject is what a container needs so that its programs find the host's: one
// read-only mount, a PATH that begins there and, for rules, ends there, labels, and links in
// /usr/local/bin for login shells, which forget PATH.
//
//	/run/hostexec            the session's share, read-only
//	    bin/hostexec         the shim, static, of the engine's architecture
//	    bin/make             -> hostexec, one for each command
//	    rules/gh             -> ../bin/hostexec, one for each that only has rules
//	/usr/local/bin/make      -> /run/hostexec/bin/make
//
// Its one law: it hides nothing that the image or the user put there. It describes
// changes and fills the share; talking to the engine is plugin's.
package inject

import (
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Target is where a container sees its session's share; the shim knows it too.
const Target = state.Target

// Bin is the directory of the commands in a container.
const Bin = Target + "/bin"

// Rules is the directory of the commands that only have rules. It is the last one of PATH: rules are
// for all containers, and a program that a container has itself stays what its name means there.
const Rules = Target + "/" + rules

// Shim is the name of the shim, which is a command itself.
const Shim = "hostexec"

// The labels of a session's container.
const (
	LabelSession  = state.Label
	LabelVersion  = "io.hostexec.version"
	LabelCommands = "io.hostexec.commands"
)

// Mount returns the mount of a session's share. It is a Mount and not a Bind: the engine
// makes a missing source of a Bind itself, as root, when the container starts again.
func Mount(share string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: share, Target: Target, ReadOnly: true}
}

// VolumeMount returns the mount of a volume in place of the share.
func VolumeMount(name string, readOnly bool) mount.Mount {
	return mount.Mount{Type: mount.TypeVolume, Source: name, Target: Target, ReadOnly: readOnly}
}

// RelayMount returns the mount that a relay listens in. Whoever is in the container may
// connect, and only root put another socket in its place.
func RelayMount() mount.Mount {
	const size = 64 << 10 // bytes; it holds a name
	return mount.Mount{Type: mount.TypeTmpfs, Target: Target + "/relay", TmpfsOptions: &mount.TmpfsOptions{SizeBytes: size, Mode: 0o755}}
}

// TargetRequests is where a container puts requests that are files. It may write there.
const TargetRequests = Target + "/proxy"

// Requests returns the mount of a session's directory for them. It lies in the share's,
// which the engine mounts first.
func Requests(dir string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: dir, Target: TargetRequests}
}

// Labels returns the labels of rec's container, those of have included.
func Labels(have map[string]string, rec *state.Session) map[string]string {
	all := make(map[string]string, len(have)+3)
	for k, v := range have {
		all[k] = v
	}
	all[LabelSession] = rec.ID
	all[LabelVersion] = rec.Version
	all[LabelCommands] = strings.Join(rec.Names(), ",")
	return all
}

// DefaultPath is what the engine gives a container whose image sets no PATH.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Path returns the PATH that env sets, as the engine would read it: the last one counts,
// and PATH without = removes the image's.
func Path(env []string) (path string, set bool) {
	for _, kv := range slices.Backward(env) {
		if kv == "PATH" {
			return DefaultPath, true
		}
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			return p, true
		}
	}
	return "", false
}

// Env returns a copy of env in which PATH is path with Bin before it and, where ruled, Rules behind it.
func Env(env []string, path string, ruled bool) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return kv == "PATH" || strings.HasPrefix(kv, "PATH=")
	})
	return append(out, "PATH="+Around(path, ruled))
}

// Around returns path with Bin before it and, if ruled, Rules behind it. A path can have them already, of
// an image that was committed from such a container. An empty path gets no colon: a trailing one would
// mean the current directory.
func Around(path string, ruled bool) string {
	switch {
	case path == "":
		path = Bin
	case path == Bin, strings.HasPrefix(path, Bin+":"):
	default:
		path = Bin + ":" + path
	}
	if ruled && !strings.HasSuffix(path, ":"+Rules) {
		path += ":" + Rules
	}
	return path
}
