// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/docker/cli/cli/command/formatter"

// ListFormat returns the format of a list from --quiet and --format. table has the columns of a table.
func ListFormat(quiet bool, format, table string) formatter.Format {
	switch {
	case quiet:
		return formatter.DefaultQuietFormat
	case format == formatter.TableFormatKey:
		return formatter.Format(table)
	}
	return formatter.Format(format)
}

// WriteRows writes rows to out. header has the names of the columns.
func WriteRows[R formatter.SubContext](out formatter.Context, header R, rows []R) error {
	return out.Write(header, func(write func(formatter.SubContext) error) error {
		for _, r := range rows {
			if err := write(r); err != nil {
				return err
			}
		}
		return nil
	})
}
