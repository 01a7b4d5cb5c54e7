// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/docker/docker/api/types/mount"
)

// Addition is what a session adds to its service.
type Addition struct {
	Service    string
	Path       string // PATH, all of it
	Labels     map[string]string
	Mounts     []mount.Mount
	WorkingDir string // or ""
}

const headline = "# Made by docker hostexec compose. It is written anew each time.\n"

// Override returns the compose file that adds all that to its project. It is a function of
// its arguments alone.
func Override(all ...Addition) ([]byte, error) {
	services := map[string]any{}
	for _, a := range all {
		s := map[string]any{
			"environment": map[string]string{"PATH": dollars(a.Path)},
			"labels":      labels(a.Labels),
		}
		var volumes []any
		for _, m := range a.Mounts {
			volumes = append(volumes, volume(m))
		}
		s["volumes"] = volumes
		if a.WorkingDir != "" {
			s["working_dir"] = dollars(a.WorkingDir)
		}
		services[a.Service] = s
	}
	var buf bytes.Buffer
	buf.WriteString(headline)
	e := yaml.NewEncoder(&buf)
	e.SetIndent(2)
	err := e.Encode(map[string]any{"services": services}) // whose keys it sorts
	return buf.Bytes(), err
}

func labels(all map[string]string) map[string]string {
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out[k] = dollars(all[k])
	}
	return out
}

func volume(m mount.Mount) map[string]any {
	v := map[string]any{"type": string(m.Type), "target": dollars(m.Target)}
	if m.ReadOnly {
		v["read_only"] = true
	}
	switch m.Type {
	case mount.TypeBind:
		v["source"] = dollars(m.Source)
		v["bind"] = map[string]any{"create_host_path": false} // a missing one is an error
	case mount.TypeTmpfs:
		v["tmpfs"] = map[string]any{"size": m.TmpfsOptions.SizeBytes, "mode": int(m.TmpfsOptions.Mode)}
	}
	return v
}

// dollars doubles every dollar: one alone begins a variable's name.
func dollars(s string) string { return strings.ReplaceAll(s, "$", "$$") }
