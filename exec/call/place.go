// SPDX-License-Identifier: Apache-2.0

package call

import (
	"errors"
	"slices"
	"strings"
)

var errNowhere = errors.New("no command runs anywhere but on the host here")

// place finds what runs j, and builds the environment that it has there. A container gets
// nothing of the host's but what the policy passes: it has a PATH and a HOME of its own,
// and what the host's secrets are for is not to run there.
func (s *Server) place(req *request, j *job) error {
	if req.shell != nil && req.shell.shell.In() != "" {
		for name, value := range j.v.Env.Set {
			j.env = append(j.env, name+"="+value)
		}
		j.notes = append(j.notes, "it runs in the container "+req.shell.shell.In()+", not on the host")
		return nil
	}
	if !j.v.Place.Contained() {
		j.runner = s.Runner
		j.env = environ(s.Environ, req.env, j.sc.PassEnv, j.v.Env, j.cwd.Path())
		return nil
	}
	if j.sc.Elsewhere == nil {
		return errNowhere
	}
	copies := ""
	if j.copies != nil {
		copies = j.copies.dir
	}
	var at string
	j.runner, at = j.sc.Elsewhere(j.v.Place, req.Cwd, copies)
	host := slices.DeleteFunc(slices.Clone(s.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(j.v.Env.Pass, name)
	})
	j.env = environ(host, req.env, j.sc.PassEnv, j.v.Env, at)
	note := "it runs in a fresh container of " + j.v.Place.Image + ", not on the host"
	if limits := j.v.Place.Limits(); limits != "" {
		note += " (" + limits + ")"
	}
	j.notes = append(j.notes, note)
	return nil
}
