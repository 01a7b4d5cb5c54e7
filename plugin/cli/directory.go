// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/osenv"
)

// Directory returns the absolute path of an existing directory without symbolic links. The engine mounts the
// link's target, and a path that is equal on both sides must lead to the same place. It expands a leading ~,
// because no shell does in --workspace=~/app.
func Directory(dir string) (string, error) {
	dir, err := osenv.ExpandHome(dir)
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) { // the error names the missing part instead of the argument
		err = fmt.Errorf("%s: %w", abs, pathErr.Err)
	}
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(real)
	if err == nil && !fi.IsDir() {
		err = fmt.Errorf("%s is not a directory", real)
	}
	return real, err
}

// RefuseEmpty refuses an empty value of a directory flag, which an unset variable causes. Without this check,
// run would use the default directory.
func RefuseEmpty(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if f := flags.Lookup(name); f.Changed && f.Value.String() == "" {
			return fmt.Errorf("--%s: no directory named", name)
		}
	}
	return nil
}
