// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/spelling"
)

// Found is what an image has at a path.
type Found struct {
	Exists bool   `json:"exists"`
	Link   string `json:"link,omitempty"` // where a symbolic link leads
}

var imageID = spelling.Form{Of: "0-9a-f", Min: 64, Max: 64}

// named reports whether image is a digest of all that the image is: what was found in it
// stays true.
func named(image string) bool {
	hex, ok := strings.CutPrefix(image, "sha256:")
	return ok && imageID.Matches(hex)
}

// Recall returns what is remembered of an image, by path. It is never nil; nothing is
// known of an image whose notes are missing or unreadable.
func Recall(home, image string) map[string]Found {
	found := map[string]Found{}
	if !named(image) {
		return found // it is no name of a file
	}
	b, err := os.ReadFile(seenFile(home, image))
	if err == nil && json.Unmarshal(b, &found) == nil && found != nil {
		return found
	}
	return map[string]Found{}
}

// Remember notes what was found in an image. Runs that start together each write all
// they know; the last one wins.
func Remember(home, image string, found map[string]Found) error {
	if !named(image) {
		return nil // an engine that names images otherwise is asked each time
	}
	b, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("remember image: %w", err)
	}
	file := seenFile(home, image)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("remember image: %w", err)
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("remember image: %w", err)
	}
	defer root.Close()
	return text(root, filepath.Base(file), 0o600, b)
}

// forget removes all notes.
func forget(home string) error {
	return os.RemoveAll(filepath.Dir(seenFile(home, "")))
}

func seenFile(home, image string) string {
	return filepath.Join(home, "images", strings.TrimPrefix(image, "sha256:")+".json")
}
