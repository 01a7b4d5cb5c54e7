// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"

	"github.com/docker-hostexec/hostexec/exec/approval"
	"github.com/docker-hostexec/hostexec/plugin/control"
)

// cardDecision is the body of an approval or denial.
type cardDecision struct {
	control.Decision
	Members []*member `json:"members"` // the questions of one card; without them, the question of the path
}

// member is a question that was shown on a card. It is settled only as it was shown, whatever was asked since.
type member struct {
	ID      string   `json:"id"`
	Digest  string   `json:"digest"`
	Waiting []string `json:"waiting"`

	now control.Question // the question that waits, with complete texts; or what is known of one that does not wait
	cut control.Question // the same with cut texts
	err error            // why it was not settled
}

// questions returns the questions of d. It is false if id is none of them, or if they are no card.
func (d *cardDecision) questions(id string) ([]*member, bool) {
	if d.Members == nil {
		return []*member{{ID: id, Digest: d.Digest, Waiting: d.Waiting}}, true
	}
	known := map[string]bool{}
	for _, m := range d.Members {
		if m == nil || m.Digest == "" || len(m.Waiting) == 0 {
			return nil, false
		}
		known[m.ID] = true
	}
	n := len(d.Members)
	return d.Members, known[id] && len(known) == n && n <= control.MaxGroup && d.Digest == "" && d.Waiting == nil
}

// answerFunc answers a question by a method of control.Client.
type answerFunc func(*control.Client, context.Context, control.Question) error

// answer answers m, which is one of all or does not wait.
func (p *Page) answer(ctx context.Context, all []control.Question, m *member, send answerFunc) {
	m.now, m.err = p.state.endedCard(control.Question{ID: m.ID}).Question, approval.ErrUnknown
	i := indexOf(all, m.ID)
	if i < 0 || !idForm.Matches(m.ID) {
		return
	}
	m.now, m.cut = all[i], all[i]
	if m.now, m.err = control.Whole(ctx, p.Store, m.now); m.err != nil {
		m.now = m.cut
		return
	}
	shown := m.now
	if m.Digest != "" { // a denial may do without
		shown.Digest, shown.Waiting = m.Digest, m.Waiting
	}
	if m.err = approval.ErrChanged; shown.Digest == m.now.Digest {
		m.err = control.WithClient(ctx, p.Store.Dir(m.now.Session), func(c *control.Client, ctx context.Context) error { return send(c, ctx, shown) })
	}
}

// waits reports whether m still waits, as far as is known.
func (m *member) waits() bool {
	return m.err != nil && !errors.Is(m.err, approval.ErrUnknown) && !errors.Is(m.err, control.ErrNoWatcher)
}

// failure describes why m was not settled.
func (m *member) failure() string {
	why := m.err.Error()
	if !m.waits() {
		why = "does not wait any more"
	}
	if m.now.Session == "" {
		return "request " + m.ID + ": " + why
	}
	return asker(m.now) + ": " + why
}
