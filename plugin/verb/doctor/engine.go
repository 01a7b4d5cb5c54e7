// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/api/types"
	apievents "github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
)

// engineFacts holds facts about an engine: docker's settings for it, and its replies.
type engineFacts struct {
	context  string // the name of docker's context
	endpoint string // in the form of DOCKER_HOST
	owner    int    // uid of the socket's owner, or -1
	api      client.APIClient
	version  types.Version
	info     system.Info
	err      error // why the engine does not answer
}

var errNoReply = fmt.Errorf("it does not answer within %s", probeTimeout)

func askEngine(ctx context.Context, dockerCLI command.Cli) engineFacts {
	e := engineFacts{context: dockerCLI.CurrentContext(), owner: -1}
	if e.api, e.err = cli.Connect(dockerCLI.ConfigFile(), cli.GlobalArgs(dockerCLI)); e.err != nil {
		return e
	}
	if e.endpoint = e.api.DaemonHost(); strings.HasPrefix(e.endpoint, "http:") { // the client talks to a helper process, as for ssh
		e.endpoint = dockerCLI.DockerEndpoint().Host
	}
	if u, err := url.Parse(e.endpoint); err == nil && u.Scheme == "unix" {
		e.owner = ownerOf(u.Path)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, errNoReply)
	defer cancel()
	if e.version, e.err = e.api.ServerVersion(ctx); e.err == nil {
		e.info, e.err = e.api.Info(ctx)
	}
	if e.err != nil && ctx.Err() != nil {
		e.err = context.Cause(ctx)
	}
	return e
}

func (e *engineFacts) close() {
	if e.api != nil {
		e.api.Close()
	}
}

// oldestAPI is the API version of Docker 20.10.
const oldestAPI = "1.41"

func (e *engineFacts) answers() finding {
	if e.err != nil {
		return e.noAnswer()
	}
	f := finding{Status: isOK, Means: "docker hostexec run can make containers there"}
	f.Found = fmt.Sprintf("%s %s, API %s, %s, at %s, context %s", platform(e.version), e.version.Version, e.version.APIVersion, e.kind(), e.endpoint, e.context)
	switch {
	case e.version.Os != "linux":
		f.Status, f.Means = isFail, fmt.Sprintf("it runs %s containers, and the shim is a program of Linux", e.version.Os)
		f.Fix = "docker context ls, and choose an engine for Linux containers"
	case versions.LessThan(e.version.APIVersion, oldestAPI):
		f.Status, f.Means = isWarn, "it is older than Docker 20.10, the oldest that is tested"
		f.Fix = "upgrade the engine"
	}
	return f
}

func platform(v types.Version) string {
	if v.Platform.Name != "" {
		return v.Platform.Name
	}
	return "engine"
}

// kind returns how the engine isolates its containers from the host's users.
func (e *engineFacts) kind() string {
	switch {
	case e.hasSecurityOption("rootless"):
		return "rootless"
	case e.hasSecurityOption("userns"):
		return "with userns-remap"
	}
	return "as root"
}

func (e *engineFacts) hasSecurityOption(name string) bool {
	return slices.ContainsFunc(e.info.SecurityOptions, func(o string) bool {
		return o == "name="+name || strings.HasPrefix(o, "name="+name+",")
	})
}

// noAnswer returns the finding for an engine that does not answer.
func (e *engineFacts) noAnswer() finding {
	f := finding{Status: isFail, Found: e.err.Error(), Means: "no container can be run or attached; sessions whose containers run still serve them"}
	if e.endpoint != "" {
		f.Found = e.endpoint + ": " + f.Found
	}
	switch {
	case e.endpoint == "":
		f.Fix = "docker context ls, then docker context use NAME; or unset DOCKER_CONTEXT"
	case errors.Is(e.err, fs.ErrPermission) || strings.Contains(e.err.Error(), "permission denied"):
		f.Means = "you may not talk to the engine"
		f.Fix = "sudo usermod -aG docker $USER, and log in again"
	case errors.Is(e.err, errNoReply):
		f.Fix = "look at the engine's own log: journalctl -u docker"
	default:
		f.Fix = "start it (sudo systemctl start docker), or choose another: docker context ls"
	}
	return f
}

// needsEngine returns the finding of a probe that needs an engine.
func needsEngine() finding {
	return finding{Status: isWarn, Found: "not known", Means: "the engine does not answer: see above"}
}

// events requests the events of a moment ago, to check that the stream works and ends.
func (e *engineFacts) events(ctx context.Context) finding {
	if e.err != nil {
		return needsEngine()
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	now := time.Now().Unix()
	events, ended := e.api.Events(ctx, apievents.ListOptions{Since: fmt.Sprint(now - 1), Until: fmt.Sprint(now)})
	for {
		select {
		case <-events:
		case err := <-ended:
			if err == nil || errors.Is(err, io.EOF) {
				return finding{Status: isOK, Found: "the engine reports events of its containers", Means: "if a container is renamed, its session uses the new name at once"}
			}
			return finding{Status: isWarn, Found: err.Error(), Means: "if a container is renamed, its session uses the old name until it is resumed; nothing else needs events"}
		}
	}
}

// uids reports to which user files of containers belong, and whether the engine can read the user's files.
// uid is the user's.
func (e *engineFacts) uids(uid int) finding {
	if e.err != nil {
		return needsEngine()
	}
	f := finding{Status: isOK, Found: fmt.Sprintf("you are uid %d; the engine runs containers %s", uid, e.kind())}
	switch {
	case e.owner < 0:
		f.Means = "the engine runs on another system, whose user ids differ from this host's"
	case e.hasSecurityOption("rootless") && e.owner != uid && e.owner != 0:
		f.Status, f.Found = isWarn, f.Found+fmt.Sprintf(", and is uid %d's", e.owner)
		f.Means = "it cannot read your state directory: a volume on the engine has the shims, and --workspace does not work"
		f.Fix = "use an engine of your own: dockerd-rootless-setuptool.sh install"
	case e.hasSecurityOption("rootless"):
		f.Means = "root in a container is you: its files in your directories are yours"
	case e.hasSecurityOption("userns"):
		f.Means = "root in a container is an unknown uid here: it can write only files that everybody can write, and its files are not yours"
	default:
		f.Means = "root in a container is root here: its files in your directories are root's; run --user avoids that"
	}
	if uid == 0 && f.Status == isOK {
		f.Status, f.Means = isWarn, "commands of containers run as root; "+f.Means
		f.Fix = "run docker hostexec as an ordinary user who may use docker"
	}
	return f
}

// architecture checks that there is a shim for the engine's kernel.
func (e *engineFacts) architecture() finding {
	if e.err != nil {
		return needsEngine()
	}
	arch := inject.Arch(e.version.Arch)
	f := finding{Status: isOK, Found: fmt.Sprintf("the engine runs on %s; this build has shims for %s", arch, strings.Join(inject.Arches(), ", ")), Means: "there is a shim for its containers, whatever the architecture of their images"}
	if !slices.Contains(inject.Arches(), arch) {
		f.Status, f.Means, f.Fix = isFail, "no shim can run in its containers", "build one that has it: make build, with "+arch+" in the Makefile's ARCHES"
	}
	return f
}
