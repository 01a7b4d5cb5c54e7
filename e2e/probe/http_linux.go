// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// overHTTP calls a command over HTTP, from the directory where it is, and is that command as far
// as the answer says: its output, once it has ended, and its code.
func overHTTP(args []string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"args": args, "workdir": cwd})
	if err != nil {
		return err
	}
	answer, err := post(body)
	if err != nil {
		return err
	}
	var said struct {
		Stdout, Stderr string
		Code           *int `json:"exit_code"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return fmt.Errorf("%w: %q", err, answer)
	}
	if said.Code == nil {
		return fmt.Errorf("no code: %q", answer)
	}
	_, err = os.Stdout.WriteString(said.Stdout)
	_, eerr := os.Stderr.WriteString(said.Stderr)
	if err = errors.Join(err, eerr); err == nil {
		os.Exit(*said.Code)
	}
	return err
}

// post sends a request to where the container is told to, and returns the body of the answer.
func post(body []byte) ([]byte, error) {
	token, err := os.ReadFile("/run/hostexec/token")
	if err != nil {
		return nil, err
	}
	at := strings.TrimPrefix(os.Getenv("HOSTEXEC_URL"), "http://")
	conn, err := net.Dial("tcp", at)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// 1.0: the answer comes in one piece, and ends with the connection.
	if _, err = fmt.Fprintf(conn, "POST /request HTTP/1.0\r\nHost: %s\r\nX-Hostexec-Token: %s\r\nContent-Length: %d\r\n\r\n%s", at, bytes.TrimSpace(token), len(body), body); err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return nil, err
	}
	_, text, found := bytes.Cut(answer, []byte("\r\n\r\n"))
	if !found {
		return nil, io.ErrUnexpectedEOF
	}
	return text, nil
}
