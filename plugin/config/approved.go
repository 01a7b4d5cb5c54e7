// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/docker-hostexec/hostexec/exec/policy"
)

// approvedRule reads a rule that allows requests that would need a person's approval. It has no settings, because the
// rule that asks has them.
func (d *document) approvedRule(n *yaml.Node, _ int) policy.Rule {
	r := policy.Rule{Do: policy.Allow, Position: d.where(n), AnyArgs: true}
	before := len(d.problems)
	known := d.matching(&r)
	known["confined"] = scalar(d.reader, "confined", &r.Confined, parseBool)
	d.fields(n, "approved", known)
	needsPath := func(e policy.Element) bool { return e.Kind == policy.KindPath || e.Kind == policy.KindInsert }
	switch {
	case len(d.problems) > before:
		return r
	case r.ID == "":
		d.fail(n, "approved: a rule without id")
	case r.AnyArgs:
		d.fail(n, "rule %s: no argv", r.ID)
	case slices.ContainsFunc(r.Argv, needsPath):
		d.fail(n, "rule %s: path and insert are not allowed in approved: the rule that asks has them", r.ID)
	}
	d.compile(n, &r)
	return r
}
