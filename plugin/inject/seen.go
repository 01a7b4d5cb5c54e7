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

// Found describes the file of an image at a path.
type Found struct {
	Exists bool   `json:"exists"`
	Link   string `json:"link,omitempty"` // target of a symbolic link
}

var imageID = spelling.Form{Of: "0-9a-f", Min: 64, Max: 64}

// named reports whether image is a content digest. The content of such an image never changes.
func named(image string) bool {
	hex, ok := strings.CutPrefix(image, "sha256:")
	return ok && imageID.Matches(hex)
}

// Recall returns the stored findings about an image, by path. The map is empty, not nil, if there are none
// or they cannot be read.
func Recall(home, image string) map[string]Found {
	found := map[string]Found{}
	if !named(image) {
		return found // it must not become a file name
	}
	b, err := os.ReadFile(seenFile(home, image))
	if err == nil && json.Unmarshal(b, &found) == nil && found != nil {
		return found
	}
	return map[string]Found{}
}

// Remember stores findings about an image. If several runs write at the same time, the last one wins.
func Remember(home, image string, found map[string]Found) error {
	if !named(image) {
		return nil // without a digest the findings cannot be cached
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

// forget removes the findings about all images.
func forget(home string) error {
	return os.RemoveAll(filepath.Dir(seenFile(home, "")))
}

func seenFile(home, image string) string {
	return filepath.Join(home, "images", strings.TrimPrefix(image, "sha256:")+".json")
}
