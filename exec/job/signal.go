// SPDX-License-Identifier: Apache-2.0

package job

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/executor"
)

// signals holds the names of Linux signals by number (signal(7)). Architectures with other numbers
// are not supported.
var signals = []executor.Signal{
	1: "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
	"STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
}

// Signals returns the names that ParseSignal accepts.
func Signals() []string { return signals[1:] }

var errSignal = errors.New("not a signal")

// ParseSignal parses a signal in the formats of kill: TERM, SIGTERM, sigterm, 15.
func ParseSignal(s string) (executor.Signal, error) {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 1 || n >= len(signals) {
			return "", errSignal
		}
		return signals[n], nil
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	if name == "" || !slices.Contains(signals, name) {
		return "", errSignal
	}
	return name, nil
}
