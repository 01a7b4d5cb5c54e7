// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// rpc is what an agent is asked, and what it answers.
type rpc struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
}

// agent answers JSON-RPC, one message in a line of any length, until stdin ends. What it
// does not know it echoes.
//
//	log PARAMS    writes them to stderr as well
//	fill N        writes N bytes to stderr before it answers
//	run ARGV      runs a command and answers with what it wrote to stdout and its code
//	where         answers with its directory, uid and environment
//	exit N        ends with that code, without an answer
func agent([]string) error {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<16), bufio.NewWriterSize(os.Stdout, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %d bytes: %w", len(line), err)
		}
		var req rpc
		if err := json.Unmarshal(line, &req); err != nil {
			return fmt.Errorf("a line of %d bytes: %w", len(line), err)
		}
		result, err := answer(req)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(rpc{JSONRPC: "2.0", ID: req.ID, Result: result}); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

func answer(req rpc) (any, error) {
	var n int
	switch req.Method {
	case "log":
		fmt.Fprintf(os.Stderr, "%s\n", req.Params)
	case "fill":
		if err := json.Unmarshal(req.Params, &n); err != nil {
			return nil, err
		}
		_, err := io.CopyN(os.Stderr, zeros{}, int64(n))
		return n, err
	case "run":
		var argv []string
		if err := json.Unmarshal(req.Params, &argv); err != nil {
			return nil, err
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if cmd.ProcessState == nil {
			return err.Error(), nil
		}
		return fmt.Sprintf("%s(%d)", text, cmd.ProcessState.ExitCode()), nil
	case "where":
		dir, err := os.Getwd()
		return []string{dir, fmt.Sprint(os.Getuid()), strings.Join(os.Environ(), "\n")}, err
	case "exit":
		if err := json.Unmarshal(req.Params, &n); err != nil {
			return nil, err
		}
		os.Exit(n)
	}
	return req.Params, nil
}

// zeros is without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
