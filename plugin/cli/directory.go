// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// Directory returns the absolute path of an existing directory, symbolic links resolved:
// the engine mounts what they lead to, and a path that is the same on both sides must
// lead to the same place. No shell has expanded the ~ of --workspace=~/app.
func Directory(dir string) (string, error) {
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = home + rest
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	var lost *fs.PathError
	if errors.As(err, &lost) { // which names the part that is missing, not what was typed
		err = fmt.Errorf("%s: %w", abs, lost.Err)
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

// RefuseEmpty refuses a flag of a directory that was given an empty one, as an unset variable
// does: the run would go on without it, in a directory that nobody chose.
func RefuseEmpty(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if f := flags.Lookup(name); f.Changed && f.Value.String() == "" {
			return fmt.Errorf("--%s: no directory named", name)
		}
	}
	return nil
}
