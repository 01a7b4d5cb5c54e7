// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
)

const composeLong = `Run docker compose with services whose containers can call commands of this host

Behind -- stands a command line of docker compose, which gets it unchanged, and one compose
file more: it gives the chosen services the mount, the PATH and the labels that docker hostexec
run gives its container. Services are chosen here, or in the compose file:

  services:
    web:
      x-hostexec:
        proxy: [make, git=ask]

The keys of x-hostexec are the long flags below; on top of the file it holds for all services
that are chosen, and its key service names some. What is said here goes before the file.

A service's session is there before its containers, and ends when there are none any more:
status, stop, inspect and the others see it as any other.

EXIT STATUS
  That of docker compose, and:
  125  hostexec could not do it; a line on stderr says what`

const composeExample = `  docker hostexec compose --proxy make --service web -- up -d

  # what is chosen in the compose file
  docker hostexec compose -- up -d
  docker hostexec compose -- run --rm web make test

  # what is added
  docker hostexec compose -- config`

// composeOptions are the flags of compose.
type composeOptions struct {
	run      launch.Options
	services []string
	project  string // compose's own, of which hostexec is a provider
}

// NewCommand returns the verb compose.
func NewCommand(dockerCLI command.Cli) *cobra.Command {
	var opts composeOptions
	cmd := &cobra.Command{
		Use:     "compose [OPTIONS] -- [docker compose ARGS]",
		Short:   "Run docker compose with services that can call commands of this host",
		Long:    composeLong,
		Example: composeExample,
		// Of compose's own words only compose knows.
		ValidArgsFunction: cli.CompleteFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.provides(args) {
				return provide(cmd.Context(), dockerCLI, opts.project, args)
			}
			if cmd.Flags().Changed("project-name") {
				return cli.FailRun(cli.Hint(errors.New("--project-name is a flag of docker compose: its own stand behind --"), "docker hostexec compose -- --project-name "+opts.project))
			}
			err := cli.RefuseEmpty(cmd.Flags(), "workspace", "workdir-host")
			if err == nil {
				err = runCompose(cmd.Context(), dockerCLI, &opts, cmd.Flags(), args)
			}
			return failCompose(err)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	opts.run.AddFlags(flags)
	flags.StringArrayVar(&opts.services, "service", nil, "The `service` that this is for (the compose file chooses others)")
	flags.StringVar(&opts.project, "project-name", "", "")
	_ = flags.MarkHidden("project-name")
	return cmd
}

// failCompose makes an error ours, unless compose has said it.
func failCompose(err error) error {
	if composeEnded(err) {
		return err
	}
	return cli.FailRun(err)
}

// composeRun is one command line of compose, on its way.
type composeRun struct {
	cli   command.Cli
	tool  *composeTool
	args  Args
	cwd   string
	files []string // the person's
	dir   string   // the project's
	model *Model
	about []string // the services that the command names, and what they depend on
}

// runCompose becomes docker compose when the sessions are there.
func runCompose(ctx context.Context, dockerCLI command.Cli, opts *composeOptions, flags *pflag.FlagSet, args []string) error {
	r := &composeRun{cli: dockerCLI}
	var err error
	if r.args, err = Parse(args); err != nil {
		return cli.Hint(err, "docker compose --help")
	}
	if r.tool, err = findCompose(dockerCLI); err != nil {
		return err
	}
	if !r.args.Makes() && !r.args.Shows() {
		return r.tool.become(args, nil)
	}
	if r.cwd, err = os.Getwd(); err != nil {
		return fmt.Errorf("find the current directory: %w", err)
	}
	active, err := r.resolve(ctx)
	if err != nil {
		return err
	}
	given, err := opts.given(flags)
	if err != nil {
		return err
	}
	chosen, err := r.model.Choose(opts.services, given)
	if err != nil {
		return r.inFiles(err)
	}
	all, err := r.plans(chosen, active)
	if err != nil {
		return err
	}
	if r.args.Shows() {
		return r.show(ctx, all)
	}
	return r.make(ctx, all)
}

// resolve finds the files, has compose make the model of them, and returns the services that
// may take part in the command.
func (r *composeRun) resolve(ctx context.Context) (active []string, err error) {
	var where Where
	if len(r.args.Files) == 0 {
		text, err := r.tool.answer(ctx, r.args.Ask([]string{"-"}, "config"), Question)
		if err != nil {
			return nil, err
		}
		if where, err = ReadWhere(text); err != nil {
			return nil, err
		}
	}
	if r.files, err = r.args.FilesOf(where, r.cwd); err != nil {
		return nil, err
	}
	r.dir = r.args.DirectoryOf(r.files, r.cwd)
	text, err := r.tool.ask(ctx, r.args.Ask(r.files, "--profile", "*", "config"))
	if err != nil { // a profile that is not wanted may be broken
		text, err = r.tool.ask(ctx, r.args.Ask(r.files, "config"))
	}
	if err != nil {
		return nil, err
	}
	if r.model, err = Read(text); err != nil {
		return nil, err
	}
	return r.active(ctx)
}

// active are the services that the command may make containers of: those of run, or else
// all whose profiles are, and those that it names. One too many has a session for a moment;
// of one too few compose would take the addition away.
func (r *composeRun) active(ctx context.Context) (all []string, err error) {
	one := r.args.Oneoff(r.has)
	about := [][]string{nil}
	if named := r.args.Named(r.has); one != "" {
		about = [][]string{{one}}
	} else if len(named) > 0 {
		about = append(about, named)
	}
	for _, names := range about {
		text, err := r.tool.ask(ctx, r.args.AskAbout(r.files, "config", names...))
		if err != nil {
			return nil, err
		}
		part, err := Read(text)
		if err != nil {
			return nil, err
		}
		r.about = slices.Collect(maps.Keys(part.Services))
		all = append(all, r.about...)
	}
	return all, nil
}

func (r *composeRun) has(service string) bool { _, ok := r.model.Services[service]; return ok }

// inFiles says of an error in which files it is.
func (r *composeRun) inFiles(err error) error {
	return fmt.Errorf("%s: %w", strings.Join(r.files, ", "), err)
}

// given are those of the flags that were, by their names. Directories are the person's, not
// the project's.
func (o *composeOptions) given(flags *pflag.FlagSet) (Settings, error) {
	ours := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(launch.Options).AddFlags(ours)
	given := Settings{}
	var errs []error
	ours.VisitAll(func(known *pflag.Flag) {
		f := flags.Lookup(known.Name)
		if !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if isDirectory(f.Name) {
			abs, err := filepath.Abs(values[0])
			values, errs = []string{abs}, append(errs, err)
		}
		given[f.Name] = values
	})
	return given, errors.Join(errs...)
}

func isDirectory(flag string) bool { return flag == "workspace" || flag == "workdir-host" }

// optionsOf are the flags that were said of a service, on the command line or in a file of the project
// in dir.
func optionsOf(said Settings, dir string) (*launch.Options, error) {
	o := &launch.Options{Dir: dir}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(set)
	for _, key := range slices.Sorted(maps.Keys(said)) {
		f := set.Lookup(key)
		if f == nil {
			return nil, fmt.Errorf("unknown key %s: they are the long flags of docker hostexec compose", names.Quoted(key))
		}
		for _, v := range said[key] {
			if v == "false" && f.NoOptDefVal != "" && f.Value.Type() != "bool" {
				continue
			}
			if v == "true" && f.NoOptDefVal != "" {
				v = f.NoOptDefVal
			}
			if isDirectory(key) && v != "" && !filepath.IsAbs(v) {
				v = filepath.Join(dir, v)
			}
			if err := set.Set(key, v); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return o, cli.RefuseEmpty(set, "workspace", "workdir-host")
}
