// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/docker/cli/cli-plugins/plugin"
	"github.com/docker/cli/cli/command"
	"github.com/docker/docker/client"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// As a provider, hostexec is started by docker compose, which reads what it says
// (docker/compose, docs/extension.md): one JSON message in a line, and nothing else. A provider
// sets variables and no more: mounts and PATH stand in the compose file.

// providerFlags are those of a provider's up and down.
type providerFlags struct {
	run      launch.Options
	services []string
	context  string
}

func (f *providerFlags) add(set *pflag.FlagSet) {
	f.run.AddCommonFlags(set)
	f.run.Carrier = "auto" // which takes no more than the one mount
	set.StringArrayVar(&f.services, "service", nil, "The `service` whose containers may call")
	set.StringVar(&f.context, "context", "", "The docker `context` that compose uses, where it is not the current one")
}

// provides reports whether compose has started us as a provider: it does so by itself, and
// says for which project.
func (o *composeOptions) provides(args []string) bool {
	if !plugin.RunningStandalone() || len(args) == 0 {
		return false
	}
	return args[0] == "metadata" || o.project != "" && slices.Contains(providerVerbs, args[0])
}

// provide is one command of compose's to a provider.
func provide(ctx context.Context, dockerCLI command.Cli, project string, args []string) error {
	if os.Args[0] != providerName { // its environment may be the project's
		return &cli.Failure{Code: cli.CodeVerb, Err: cli.Hint(errors.New("only docker compose starts a provider"), "docker compose --project-name "+project+" up")}
	}
	_ = dir.CloexecAll() // a watcher stays: what compose has left open for us would stay with it
	if args[0] == "metadata" {
		return json.NewEncoder(dockerCLI.Out()).Encode(providerMetadata())
	}
	var flags providerFlags
	set := pflag.NewFlagSet("provider", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	flags.add(set)
	tell := teller{dockerCLI.Out()}
	err := set.Parse(args[1:])
	switch {
	case err != nil:
	case len(flags.services) == 0:
		err = errors.New("options.service: name the services whose containers may call")
	case args[0] == "up":
		err = flags.up(ctx, dockerCLI, project, tell)
	default:
		err = flags.down(ctx, dockerCLI, project)
	}
	if err != nil {
		tell.say("error", "hostexec: "+err.Error())
		return &cli.Failure{Code: cli.CodeVerb, Err: err}
	}
	return nil
}

// What compose calls projects and services (compose-spec, compose-spec.json), but for names that are no
// files'.
var (
	projectName = names.Form{First: "a-z0-9", Chars: "a-z0-9_-", Min: 1, Max: names.Unbounded}
	serviceName = names.Form{First: "A-Za-z0-9_-", Chars: "A-Za-z0-9._-", Min: 1, Max: names.Unbounded}
)

// nameable refuses what could not be a file's name: a link is made for each service.
func nameable(project, service string) error {
	if !projectName.Matches(project) || !serviceName.Matches(service) {
		return fmt.Errorf("%s of %s: not the name of a service", names.Quoted(service), names.Quoted(project))
	}
	return nil
}

// up has the services' sessions served, however often it is called.
func (f *providerFlags) up(ctx context.Context, dockerCLI command.Cli, project string, tell teller) error {
	at, api, err := f.engine(dockerCLI)
	if err != nil {
		return err
	}
	s, err := openServices(ctx, dockerCLI, api)
	if err != nil {
		return err
	}
	defer s.close()
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, name := range f.services {
		if err := nameable(project, name); err != nil {
			return err
		}
		opts := f.run
		opts.Dir = cwd
		p, err := opts.Plan("", false)
		if err != nil {
			return err
		}
		p.Record.GlobalArgs, p.Record.Engine = at.args, at.host
		p.Record.Service = &state.Service{Project: project, Name: name, Provided: true}
		s.known(p)
		if err := s.hold(ctx, p); err != nil {
			return err
		}
		if err := linkShare(s.store, p.Record); err != nil {
			return err
		}
		if err := promise(s.store, p.Record.ID, 0); err != nil {
			return err
		}
		tell.say("info", fmt.Sprintf("session %s: %s may call %s of this host", p.Record.ID, name, provided(p.Record)))
	}
	tell.say("setenv", "DIR="+s.store.ServiceShare(project, f.services[0]))
	tell.say("setenv", "BIN="+inject.Bin)
	return nil
}

// provided is what a service may call, for the person who reads what compose shows: the
// compose file, and not they, has said it.
func provided(rec state.Session) string {
	names := launch.Allowed(rec.Commands)
	if rec.Shell != nil && rec.Shell.Action != "deny" {
		names = append(names, "shells")
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// engineAt is how an engine is reached.
type engineAt struct {
	args []string // docker's own flags
	host string
}

// engine is the one that compose uses, which says nothing of it: it is docker's, unless a context is named.
func (f *providerFlags) engine(dockerCLI command.Cli) (engineAt, client.APIClient, error) {
	if f.context == "" {
		return engineAt{cli.GlobalArgs(dockerCLI), dockerCLI.DockerEndpoint().Host}, dockerCLI.Client(), nil
	}
	args := []string{"--context", f.context}
	api, err := cli.Connect(dockerCLI.ConfigFile(), args)
	if err != nil {
		return engineAt{}, nil, fmt.Errorf("options.context: %w", err)
	}
	return engineAt{args, api.DaemonHost()}, api, nil
}

// down ends the services' sessions. Compose has removed their containers, or says so too if
// it has not: then the session stays, to be served again.
func (f *providerFlags) down(ctx context.Context, dockerCLI command.Cli, project string) error {
	at, _, err := f.engine(dockerCLI)
	if err != nil {
		return err
	}
	store, err := state.Open()
	if err != nil {
		return err
	}
	for _, name := range f.services {
		if err := nameable(project, name); err != nil {
			return err
		}
		if err := endService(ctx, dockerCLI, store, store.ServiceID(at.host, project, name)); err != nil {
			return err
		}
		if err := unlinkShare(store, project, name); err != nil {
			return err
		}
	}
	return nil
}

// endService ends a service's session, and removes it if its containers are gone.
func endService(ctx context.Context, dockerCLI command.Cli, store *state.Store, id string) error {
	rec, err := store.Load(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := sessions.StopWatcher(ctx, store.Dir(id), id, sessions.DefaultGrace); err != nil {
		return err
	}
	if s := sessions.Survey(ctx, dockerCLI, store, []state.Session{rec})[0]; s.State == sessions.StateGone || rec.Container == "" {
		return store.Remove(id)
	}
	return nil
}

// providerData is what compose asks of a provider, so that it passes on no option that is none.
type providerData struct {
	Description string     `json:"description"`
	Up          parameters `json:"up"`
	Down        parameters `json:"down"`
}

type parameters struct {
	Parameters []parameter `json:"parameters"`
}

type parameter struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Type        string `json:"type"`
	Default     string `json:"default,omitempty"`
}

func providerMetadata() providerData {
	m := providerData{Description: "Let containers of a service call commands of this host"}
	set := pflag.NewFlagSet("provider", pflag.ContinueOnError)
	new(providerFlags).add(set)
	set.VisitAll(func(f *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(f)
		p := parameter{Name: f.Name, Description: usage, Required: f.Name == "service", Type: "string"}
		if f.Value.Type() == "bool" {
			p.Type = "boolean"
		}
		if f.DefValue != "[]" {
			p.Default = f.DefValue
		}
		m.Up.Parameters = append(m.Up.Parameters, p)
		if f.Name == "service" || f.Name == "context" {
			m.Down.Parameters = append(m.Down.Parameters, p)
		}
	})
	return m
}
