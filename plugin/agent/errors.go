// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ErrorType is the kind of an Error, for programs.
type ErrorType string

// The types of errors.
const (
	ImageNotFound     ErrorType = "image_not_found"
	DockerUnavailable ErrorType = "docker_unavailable"
	AttachFailed      ErrorType = "attach_failed"
	StartupTimeout    ErrorType = "startup_timeout"
	ContainerExited   ErrorType = "container_exited"
	CommandNotFound   ErrorType = "command_not_found"
	InvalidConfig     ErrorType = "invalid_config"
	Failed            ErrorType = "failed" // all other errors
)

// Error is the reason why an agent did not run, or how its container failed.
type Error struct {
	Type    ErrorType
	Message string // for users; fixed, because programs compare some
	Hint    string // the next step for the user, unless Message names it
	Cause   error  // or nil
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Cause }

// MarshalJSON returns the output for --json: type, message and cause, all of them strings.
func (e *Error) MarshalJSON() ([]byte, error) {
	cause := ""
	if e.Cause != nil {
		cause = e.Cause.Error()
	}
	return json.Marshal(struct {
		Type    ErrorType `json:"type"`
		Message string    `json:"message"`
		Cause   string    `json:"cause"`
	}{e.Type, e.Message, cause})
}

// invalid returns the error for an invalid setting. hint is a valid example.
func invalid(hint, format string, args ...any) error {
	return &Error{Type: InvalidConfig, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func unavailable(cause error) error {
	return &Error{Type: DockerUnavailable, Message: "Cannot connect to Docker daemon. Is Docker running? Check: docker ps", Cause: cause}
}

func imageNotFound(image string, cause error) error {
	return &Error{
		Type:    ImageNotFound,
		Message: fmt.Sprintf("Docker image '%s' not found. Build it with: docker build -t %s .", image, image),
		Hint:    "pull it from a registry: docker hostexec agent --pull",
		Cause:   cause,
	}
}

func attachFailed(cause error) error {
	return &Error{Type: AttachFailed, Message: fmt.Sprintf("Failed to attach to container stdio: %v", cause), Hint: "check the engine: docker ps", Cause: cause}
}

func startupTimeout(c *Container, cause error) error {
	return &Error{
		Type:    StartupTimeout,
		Message: fmt.Sprintf("Container did not start within %s", c.Startup),
		Hint:    "allow more time with agent.container.startup_timeout_seconds",
		Cause:   cause,
	}
}

// exited returns the error for a failed container, with its last lines of output.
func exited(code int, lines []string) error {
	text := fmt.Sprintf("Container exited with code %d. Last %d log lines:", code, maxLines)
	if len(lines) == 0 {
		text += " none"
	}
	return &Error{Type: ContainerExited, Message: text + strings.Join(append([]string{""}, lines...), "\n")}
}
