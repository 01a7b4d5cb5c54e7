// SPDX-License-Identifier: Apache-2.0

package shell

const createLong = `Create a shell

The shell is a bash that starts in HOME on this host. With --in, it runs in a running container
that has bash.

EXIT STATUS
  0  the shell was created
  1  it was not, for example because there is one of that name`

const createExample = `  docker hostexec shell create --cwd . web build

  # in the container db
  docker hostexec shell create --in db web q`

const execLong = `Run bash code in a shell, which keeps the changes

TEXT is bash code. Several words are joined with spaces, so quote it once. A shell runs one TEXT
at a time: exec waits for its turn. The time limit counts from the start of TEXT.

` + textStatus

const execExample = `  docker hostexec shell exec web build -- 'cd server; export GOFLAGS=-race'
  docker hostexec shell exec --timeout 5m web build -- 'go test ./...'`

const startLong = `Run bash code in a copy of a shell, without waiting for the shell

TEXT is bash code. Several words are joined with spaces, so quote it once. The shell stays free,
and changes of the copy's directory, variables and functions are lost.

` + textStatus

const startExample = `  docker hostexec shell start web build -- 'go test ./... >test.log 2>&1'`

const textStatus = `EXIT STATUS
  0 to 255  the exit code of TEXT
  1         --cwd cannot be entered
  2         --env has no valid name of a variable
  124       the timeout expired
  125       the shell is not ready or has ended; or the command line is wrong`

const lsLong = `List the shells of all sessions, or of those named

EXIT STATUS
  0  the shells were listed
  1  a session was not found, or did not answer`

const rmLong = `End a shell and its processes

EXIT STATUS
  0  there is no such shell any more
  1  the session was not found, or did not answer`
