// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/spelling"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/entry"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// runOptions are the flags that run has and docker run has not.
type runOptions struct {
	proxies     []string
	shell       string
	workspace   string
	workdirHost string
	passEnv     []string
	newPrivs    bool
	carrier     string
	dir         string // where run was typed; empty: in the current directory
	http        string
	compat      bool
}

// addFlags adds the flags that run and agent share.
func (o *runOptions) addFlags(flags *pflag.FlagSet) {
	o.addCommonFlags(flags)
	flags.StringVar(&o.workspace, "workspace", "", "Mount a host `directory`, the current one by default, at the same path and work in it")
	flags.Lookup("workspace").NoOptDefVal = "."
	flags.StringVar(&o.carrier, "carrier", "auto", "How calls reach the host (`auto|socket|relay|files`)")
}

// addHTTPFlags adds those that only run has, which makes the container and its network known.
func (o *runOptions) addHTTPFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.http, "http", "", "Answer calls over HTTP, too, at the container's gateway (`:PORT|ADDRESS:PORT`)")
	flags.Lookup("http").NoOptDefVal = atGateway
	flags.BoolVar(&o.compat, "cloister-compat", false, "Tell the container of --http in the variables of cloister's clients, too")
}

// addCommonFlags adds those that attach has, too.
func (o *runOptions) addCommonFlags(flags *pflag.FlagSet) {
	// One backquoted word names the value in the help; a second one would break it.
	flags.StringArrayVar(&o.proxies, "proxy", nil, "Let the container run this host `command` (NAME[=allow|ask|deny|/path][,where=container:IMAGE][,keep])")
	flags.StringVar(&o.shell, "proxy-shell", "", "Let the container run shells with state on this host (`allow|ask|deny`[,in=CONTAINER], in others where these are named)")
	flags.Lookup("proxy-shell").NoOptDefVal = "allow"
	flags.StringVar(&o.workdirHost, "workdir-host", "", "Host `directory` in which all commands run if the container has no bind mount")
	flags.StringArrayVar(&o.passEnv, "pass-env", nil, "Pass this variable of the container on to host commands (`NAME`)")
	flags.BoolVar(&o.newPrivs, "allow-new-privs", false, "Let host commands gain privileges (setuid, file capabilities, snaps)")
}

// plan is what the flags ask for, checked, before anything has been made.
type plan struct {
	rec       state.Session
	workspace string // host directory to mount and to work in, or ""
	keepDir   bool   // the user gave a working directory
	config    *config.Config
	http      httpWish
}

// plan checks the flags against the host, and returns what they ask for. Nothing is left of a plan that fails.
func (o *runOptions) plan(image string, keepDir bool) (*plan, error) {
	commands, err := parseProxies(o.proxies)
	if err != nil {
		return nil, err
	}
	if err := checkCarrier(o.carrier); err != nil {
		return nil, err
	}
	if err := checkEnv(o.passEnv); err != nil {
		return nil, err
	}
	p := &plan{keepDir: keepDir, rec: state.Session{
		Version:  entry.Version,
		Created:  time.Now().UTC().Truncate(time.Second),
		Image:    image,
		Carrier:  o.carrier,
		PassEnv:  o.passEnv,
		NewPrivs: o.newPrivs,
		Terminal: state.Terminal(notify.Here()),
	}}
	if p.http, err = parseHTTP(o.http, o.compat); err != nil {
		return nil, err
	}
	if p.http.wanted {
		p.rec.HTTP = &state.HTTP{}
	}
	if err := o.directories(p); err != nil {
		return nil, err
	}
	if p.rec.Commands, err = p.configured(commands); err != nil {
		return nil, err
	}
	if p.rec.Shell, err = parseShell(o.shell, os.Getenv("PATH")); err != nil {
		return nil, err
	}
	p.rec.Ruled = p.ruled(os.Getenv("PATH"))
	return p, resolve(p.rec.Commands, os.Getenv("PATH"), p.elsewhere)
}

// configured adds the commands that the configuration proxies for this project to those of
// the flags, which have the last word, and the programs that it names. A broken configuration would have every call refused.
func (p *plan) configured(commands []state.Command) ([]state.Command, error) {
	var err error
	if p.config, err = p.load(); err != nil {
		return nil, err
	}
	more, err := defaultProxies(p.config)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	for _, c := range more {
		if !slices.ContainsFunc(commands, func(given state.Command) bool { return given.Name == c.Name }) {
			commands = append(commands, c)
		}
	}
	for i, c := range commands {
		if c.Path == "" {
			commands[i].Path = p.config.Program(c.Name)
		}
	}
	return commands, nil
}

// elsewhere reports whether a command does not run on this host.
func (p *plan) elsewhere(c state.Command) bool { return p.image(c) != "" }

// image returns the image in a container of which a command runs, or "".
func (p *plan) image(c state.Command) string {
	if c.Where != nil {
		return c.Where.Image
	}
	return p.config.Policy(nil).Rules[c.Name].Place.Image
}

func (o *runOptions) directories(p *plan) (err error) {
	if p.rec.InvokedIn = o.dir; o.dir == "" {
		if p.rec.InvokedIn, err = os.Getwd(); err != nil {
			return fmt.Errorf("find the current directory: %w", err)
		}
	}
	if o.workspace != "" {
		if p.workspace, err = cli.Directory(o.workspace); err != nil {
			return fmt.Errorf("--workspace: %w", err)
		}
	}
	p.rec.Workspace = cmp.Or(p.workspace, p.rec.InvokedIn)
	if o.workdirHost != "" {
		if p.rec.WorkdirHost, err = cli.Directory(o.workdirHost); err != nil {
			return fmt.Errorf("--workdir-host: %w", err)
		}
	}
	return nil
}

// bareWorkspace refuses --workspace DIR: without = it has no value, and docker run would take DIR
// for the image. No image's name begins as a path does.
func bareWorkspace(flags *pflag.FlagSet, args []string) error {
	f := flags.Lookup("workspace")
	if !f.Changed || f.Value.String() != f.NoOptDefVal || len(args) == 0 || !strings.HasPrefix(args[0], "/") && !strings.HasPrefix(args[0], ".") && !strings.HasPrefix(args[0], "~") {
		return nil
	}
	return cli.Hint(fmt.Errorf("--workspace: its directory must follow a =, not a space: %s", cli.Quoted(args[0])), "--workspace="+cli.Quoted(args[0]))
}

func checkCarrier(name string) error {
	switch name {
	case "auto", carrier.BySocket, carrier.ByRelay, carrier.ByFiles:
		return nil
	}
	return fmt.Errorf("--carrier %s: there are auto, socket, relay and files", cli.Quoted(name))
}

var envForm = spelling.Form{First: "A-Za-z_", Of: "A-Za-z0-9_", Min: 1, Max: spelling.Unbounded}

// checkEnv takes names only: a value given here would stand in the session's record, and
// nothing of the environment ever does.
func checkEnv(names []string) error {
	for _, name := range names {
		var err error
		switch {
		case strings.Contains(name, "="):
			err = errors.New("give the name only, the container sets the value")
		case !envForm.Matches(name):
			err = errors.New("not the name of a variable")
		case strings.HasPrefix(name, "HOSTEXEC_"):
			err = errors.New("this variable is hostexec's own")
		case name == "PATH":
			err = errors.New("commands, and the programs that they call, are found by the host's own")
		}
		if err != nil {
			return fmt.Errorf("--pass-env %s: %w", cli.Quoted(name), err)
		}
	}
	return nil
}

// load reads the configuration. A broken one would have every call refused.
func (p *plan) load() (*config.Config, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	c := config.Load(config.Source{Store: store.Home, Project: p.rec.InvokedIn, Workspace: p.rec.Workspace})
	if c.Err != nil {
		return nil, cli.Hint(fmt.Errorf("read the configuration: %w", c.Err), "docker hostexec policy check")
	}
	return c, nil
}
