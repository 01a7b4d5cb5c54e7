// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/docker/cli/cli/command"

	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// SessionLauncher implements Sessions: it gives selected containers the sessions that docker hostexec run would give
// them. Only the flags and the host's configuration can allow commands. A label of the container can only remove some
// of them. It has more methods than other types because the creation, the start and the comparison of containers use
// the same flags.
type SessionLauncher struct {
	cli        command.Cli // of the real engine
	opts       launch.Options
	selection  Selection
	store      *state.Store
	afterStart sync.WaitGroup // of resumeAfterStart
	resuming   sync.Mutex     // held while a watcher is started for a session that has none

	mu         sync.Mutex        // guards the fields below
	notes      []string          // see Notes
	report     func(line string) // gets notes instead, if it is not nil
	selected   int               // containers that were to get a session
	unselected int               // created containers that were not selected
}

// NewSessionLauncher returns a SessionLauncher. It checks the flags and the configuration as run does, and warns of the
// parts of the configuration that are not used. The caller calls Close.
func NewSessionLauncher(dockerCLI command.Cli, opts launch.Options, selection Selection) (*SessionLauncher, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	if opts.Dir == "" {
		if opts.Dir, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("find the current directory: %w", err)
		}
	}
	l := &SessionLauncher{cli: dockerCLI, opts: opts, selection: selection, store: store}
	p, err := opts.Plan("", false)
	if err != nil {
		return nil, err
	}
	for _, w := range p.Config.Warnings {
		cli.Say(dockerCLI.Err(), "warning: %s", w)
	}
	return l, nil
}

// Close waits for the goroutines that Start has started. They end within some seconds.
func (l *SessionLauncher) Close() { l.afterStart.Wait() }

// Notes returns messages about the sessions so far. Print them after the command of docker hostexec with has ended,
// because it may use the terminal.
func (l *SessionLauncher) Notes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	notes := slices.Clone(l.notes)
	if l.unselected > 0 && l.selected == 0 {
		notes = append(notes, "warning: no container was selected: use --service, --label or --all, or give containers the label "+LabelProxy)
	}
	return notes
}

// ReportNotes calls report with each line so far, and later with each new line. Only one goroutine at a time calls
// report.
func (l *SessionLauncher) ReportNotes(report func(line string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.notes {
		report(line)
	}
	l.notes, l.report = nil, report
}

// count notes that a container is created, and whether it is selected.
func (l *SessionLauncher) count(selected bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if selected {
		l.selected++
	} else {
		l.unselected++
	}
}

func (l *SessionLauncher) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := escaped(fmt.Sprintf(format, args...))
	if l.report != nil {
		l.report(line)
		return
	}
	l.notes = append(l.notes, line)
}

// Create implements Sessions.
func (l *SessionLauncher) Create(ctx context.Context, req *CreateRequest) (created func(context.Context, string) error, err error) {
	if req.Body == nil {
		return nil, nil
	}
	want, err := parseCreation(req)
	if err != nil {
		return nil, &statusError{http.StatusBadRequest, err}
	}
	missing, err := l.inspectImage(ctx, &want)
	if err != nil {
		return nil, err
	}
	labels := allLabels(want)
	p, err := l.plan(want.Config.Image, want.Config.WorkingDir != "", labels, l.config())
	l.count(p != nil || err != nil)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return func(ctx context.Context, id string) error { return l.createdUnselected(ctx, id, labels) }, nil
	}
	if err := limitToLabel(&p.Record, labels[LabelProxy]); err != nil {
		return nil, err
	}
	if missing { // the client may pull it, and create the container again
		return func(_ context.Context, id string) error {
			if id == "" {
				return nil
			}
			return launch.RemoveWithoutAdditions(l.cli.Client(), id, want.Config.Image)
		}, nil
	}
	// The watcher must not end with the client: the engine may create the container nevertheless.
	s, err := launch.Begin(context.WithoutCancel(ctx), l.cli, p)
	if err != nil {
		return nil, err
	}
	s.Report = func(text string) { l.note("container %s: %s", cmp.Or(want.Name, s.ID[:min(len(s.ID), 12)]), text) }
	return l.addSession(ctx, s, req, want)
}

// addSession adds to req what the container of session s needs. The returned function binds s to the container.
func (l *SessionLauncher) addSession(ctx context.Context, s *launch.Launch, req *CreateRequest, want launch.Creation) (created func(context.Context, string) error, err error) {
	api := l.cli.Client()
	text, err := encode(req.Body)
	if err != nil {
		return nil, errors.Join(err, s.Finish())
	}
	adds, err := s.Additions(ctx, api, want)
	if err == nil {
		err = addTo(req.Body, adds)
	}
	if err != nil {
		return nil, errors.Join(err, s.Finish())
	}
	req.Refused = func(ctx context.Context, refusal error) (again bool, err error) {
		others, err := s.Refused(ctx, api, want, refusal)
		if err != nil || others == nil {
			return false, err
		}
		adds = *others
		if req.Body, err = decode(text); err == nil {
			err = addTo(req.Body, adds)
		}
		return true, err
	}
	return func(_ context.Context, id string) error {
		if id == "" {
			return s.Finish()
		}
		if err := s.Created(api, id, adds.Apply(want)); err != nil {
			return errors.Join(err, s.Finish())
		}
		s.AnnounceSession()
		return s.Finish()
	}, nil
}

// inspectImage sets want.Image, unless the image is missing.
func (l *SessionLauncher) inspectImage(ctx context.Context, want *launch.Creation) (missing bool, err error) {
	image, err := want.InspectImage(ctx, l.cli.Client())
	if launch.ImageMissing(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the image: %w", err)
	}
	want.Image = &image
	return false, nil
}

// allLabels returns the labels that the container will have: its own, and those of its image.
func allLabels(want launch.Creation) map[string]string {
	all := map[string]string{}
	if want.Image != nil && want.Image.Config != nil {
		maps.Copy(all, want.Image.Config.Labels)
	}
	delete(all, state.LabelService) // an image belongs to no service: compose sets it for its containers
	maps.Copy(all, want.Config.Labels)
	return all
}

// plan returns what the host allows a container, or nil if it is not selected. The configuration may have changed since
// the last call.
func (l *SessionLauncher) plan(image string, hasWorkdir bool, labels map[string]string, conf *config.Config) (*launch.Plan, error) {
	service, configured := conf.Services[labels[state.LabelService]]
	if !l.selection.selects(labels, configured) {
		return nil, nil
	}
	opts := l.opts.With(service)
	p, err := opts.Plan(image, hasWorkdir)
	if err != nil {
		return nil, err
	}
	p.Record.Engine = l.cli.DockerEndpoint().Host
	p.Record.GlobalArgs = cli.PinEngine(cli.GlobalArgs(l.cli), p.Record.Engine)
	p.Record.StartedLater = true
	return p, nil
}
