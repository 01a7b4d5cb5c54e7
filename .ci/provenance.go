// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Command provenance states how a plugin was built for a release: from which commit and modules, with which version of
// Go and which options. Its output is an in-toto statement with SLSA provenance.
//
//	provenance -version VERSION -commit COMMIT [-modified] [-tree DIRECTORY] [-builder URI] PLUGIN STATEMENT
//
// The statement is about the packages of the same platform, too: hostexec-v1.2.3.linux-amd64 has
// hostexec-v1.2.3.linux-amd64.deb beside it. It has no times, so that equal builds have equal statements. It is not
// signed: whoever can replace the plugin can replace the statement.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

const (
	repository = "https://github.com/docker-hostexec/hostexec"
	about      = repository + "/blob/main/CONTRIBUTING.md#releases" // says how and by whom a release is built
)

// The types are those of https://in-toto.io/Statement/v1 and https://slsa.dev/spec/v1.0/provenance.
type (
	statement struct {
		Type          string     `json:"_type"`
		Subject       []resource `json:"subject"`
		PredicateType string     `json:"predicateType"`
		Predicate     predicate  `json:"predicate"`
	}
	resource struct {
		Name   string            `json:"name,omitempty"`
		URI    string            `json:"uri,omitempty"`
		Digest map[string]string `json:"digest,omitempty"`
	}
	predicate struct {
		BuildDefinition buildDefinition `json:"buildDefinition"`
		RunDetails      runDetails      `json:"runDetails"`
	}
	buildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   parameters        `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []resource        `json:"resolvedDependencies"`
	}
	parameters struct {
		Source   string `json:"source"`
		Version  string `json:"version"`
		Modified bool   `json:"modified"` // the source was not that of the commit
	}
	runDetails struct {
		Builder builder `json:"builder"`
	}
	builder struct {
		ID      string            `json:"id"`
		Version map[string]string `json:"version"`
	}
)

func main() {
	var made parameters
	flag.StringVar(&made.Version, "version", "", "version of the release")
	flag.BoolVar(&made.Modified, "modified", false, "the source differs from that of the commit")
	commit := flag.String("commit", "", "commit of the source")
	tree := flag.String("tree", ".", "directory of the source")
	by := flag.String("builder", about, "URI of whoever built it")
	flag.Parse()
	made.Source = "git+" + repository
	if err := write(flag.Arg(0), flag.Arg(1), *tree, *commit, *by, made); err != nil {
		fmt.Fprintln(os.Stderr, "provenance:", err)
		os.Exit(1)
	}
}

// write writes the statement about plugin to file. The plugin was built in tree.
func write(plugin, file, tree, commit, by string, made parameters) error {
	info, err := buildinfo.ReadFile(plugin)
	if err != nil {
		return err
	}
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	if s.Subject, err = subjects(plugin); err != nil {
		return err
	}
	deps, err := dependencies(tree, info)
	if err != nil {
		return err
	}
	source := resource{URI: made.Source + "@" + commit, Digest: map[string]string{"gitCommit": commit}}
	s.Predicate.BuildDefinition = buildDefinition{about, made, settings(info), append([]resource{source}, deps...)}
	s.Predicate.RunDetails.Builder = builder{by, map[string]string{"go": info.GoVersion}}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

// subjects are the plugin and the packages that have it.
func subjects(plugin string) (all []resource, err error) {
	packages, err := filepath.Glob(plugin + ".*")
	if err != nil {
		return nil, err
	}
	for _, file := range append([]string{plugin}, packages...) {
		if ext := filepath.Ext(file); file != plugin && ext != ".deb" && ext != ".rpm" {
			continue
		}
		digest, err := sha256Of(file)
		if err != nil {
			return nil, err
		}
		all = append(all, resource{Name: filepath.Base(file), Digest: digest})
	}
	return all, nil
}

// settings are the options of the build, as Go has recorded them.
func settings(info *debug.BuildInfo) map[string]string {
	all := map[string]string{"main": info.Path}
	for _, s := range info.Settings {
		all[s.Key] = s.Value
	}
	return all
}

// dependencies are the files with the versions of all modules, and the modules of the plugin and of the programs for
// containers that it embeds.
func dependencies(tree string, plugin *debug.BuildInfo) (all []resource, err error) {
	for _, file := range []string{"go.mod", "go.sum"} {
		digest, err := sha256Of(filepath.Join(tree, file))
		if err != nil {
			return nil, err
		}
		all = append(all, resource{Name: file, Digest: digest})
	}
	modules := map[string]string{} // their hashes, by URI
	add := func(info *debug.BuildInfo) {
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules["pkg:golang/"+m.Path+"@"+m.Version] = m.Sum
		}
	}
	add(plugin)
	embedded, err := filepath.Glob(filepath.Join(tree, "bin/sh*/linux-*/hostexec*"))
	if err != nil || len(embedded) == 0 {
		return nil, fmt.Errorf("no programs for containers in bin: make shims (%v)", err)
	}
	for _, file := range embedded {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return nil, err
		}
		add(info)
	}
	for _, uri := range slices.Sorted(maps.Keys(modules)) {
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(modules[uri], "h1:"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", uri, err)
		}
		all = append(all, resource{URI: uri, Digest: map[string]string{"dirHash": hex.EncodeToString(sum)}})
	}
	return all, nil
}

func sha256Of(file string) (map[string]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return map[string]string{"sha256": hex.EncodeToString(sum[:])}, nil
}
