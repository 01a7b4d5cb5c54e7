// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/page"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

const uiLong = `Serve a page in the browser on which you answer requests of containers

There is one page for all your sessions, on 127.0.0.1, port 9999 or the next free port. It is
served until ^C. If the page is served already, its address is printed and opened. Everybody
who has the address can answer for you until the page ends. If no browser shows the page, a
request opens one; with --no-open, or without a desktop, a message on the terminal says that
a request waits.

The browser is started with a private file that redirects it to the page. If the browser cannot
read the file, or takes longer than 30 seconds to start, open the printed address. Over ssh,
forward the same port: ssh -L 9999:127.0.0.1:9999 HOST.

On a desktop, run and resume start the page in the background if calls of the session can ask.
It opens a browser at the first question, and ends five minutes after the last session and the
last browser. notify.desktop: false in config.yaml prevents that.

EXIT STATUS
  0  the page was served or opened
  1  it could not be served`

// idleTimeout is the time after which a page in the background ends if there is no session.
const idleTimeout = 5 * time.Minute

type uiOptions struct{ noOpen, background bool }

// NewUICommand returns the verb ui.
func NewUICommand(dockerCLI command.Cli) *cobra.Command {
	var opts uiOptions
	cmd := &cobra.Command{
		Use:               "ui [OPTIONS]",
		Short:             "Answer requests on a page in the browser",
		Long:              uiLong,
		Example:           "  docker hostexec ui --no-open",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.VerbWithSignals(func(cmd *cobra.Command, _ []string) error {
			if control.StartedByCall() {
				return control.ErrStartedByCall
			}
			store, err := state.Open()
			if err != nil {
				return err
			}
			// A page that was started on a terminal ends with the terminal.
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
			defer stop()
			return serveUI(ctx, dockerCLI, store, opts)
		}),
	}
	cmd.Flags().BoolVar(&opts.noOpen, "no-open", false, "Print the address, but open no browser")
	cmd.Flags().BoolVar(&opts.background, "background", false, "End when there is no session, and open a browser when something is asked")
	_ = cmd.Flags().MarkHidden("background") // the flag exists
	return cmd
}

func serveUI(ctx context.Context, dockerCLI command.Cli, store *state.Store, opts uiOptions) error {
	p := &page.Page{Store: store, Open: notifyUser(dockerCLI, store, opts)}
	if opts.background {
		p.Idle = idleTimeout
	}
	err := p.Listen(ctx)
	switch {
	case errors.Is(err, page.ErrTaken) && !opts.background:
		return openUI(ctx, dockerCLI, store, opts)
	case err != nil:
		return err
	}
	if !opts.background {
		fmt.Fprintln(dockerCLI.Out(), p.URL())
		cli.Say(dockerCLI.Err(), "^C ends the page")
		if !opts.noOpen {
			file, err := p.File()
			if err == nil {
				err = page.Open(store, file)
			}
			warnNoBrowser(dockerCLI, err)
		}
	}
	return p.Serve(ctx)
}

// notifyUser returns the function that the page calls for a question while no browser shows it. The function opens a
// browser and, if it cannot, prints a message on the terminal. For a page in the background, it only opens a browser.
// Otherwise, without a terminal, notifyUser returns nil.
func notifyUser(dockerCLI command.Cli, store *state.Store, opts uiOptions) func(link string) error {
	switch {
	case opts.background:
		return func(link string) error { return page.Open(store, link) }
	case !dockerCLI.Err().IsTerminal():
		return nil
	}
	return func(link string) error {
		if !opts.noOpen && page.CanOpenBrowser() && page.Open(store, link) == nil {
			return nil
		}
		cli.Say(dockerCLI.Err(), "a request waits: open the address above")
		return nil
	}
}

// openUI opens the page of another process.
func openUI(ctx context.Context, dockerCLI command.Cli, store *state.Store, opts uiOptions) error {
	address, err := page.Find(ctx, store)
	if err != nil {
		return err
	}
	fmt.Fprintln(dockerCLI.Out(), address.URL())
	if opts.noOpen {
		return nil
	}
	file, err := address.File(ctx)
	if err == nil {
		err = page.Open(store, file)
	}
	warnNoBrowser(dockerCLI, err)
	return nil
}

// warnNoBrowser reports why no browser opens. The printed address is enough.
func warnNoBrowser(dockerCLI command.Cli, err error) {
	if err != nil {
		cli.Say(dockerCLI.Err(), "%s: open the address yourself", err)
	}
}
