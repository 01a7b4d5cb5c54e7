// SPDX-License-Identifier: Apache-2.0

// Package docs embeds the pages of the documentation that the plugin prints.
package docs

import _ "embed" // the pages

// Agents is what an agent in a container should know.
//
//go:embed agents.md
var Agents string
