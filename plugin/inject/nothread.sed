# For the runtime's os_linux.go: a shim that gets no thread, in a container that may have no more
# processes, says so and fails. Go would show the stacks of all its goroutines, and exit with 2.
/^func newosproc(mp/,/^}/ {
	/print("runtime: failed to create new OS thread/,/throw("newosproc")/c\
		writeErrStr("hostexec: no process or thread is left here: see --pids-limit of docker run, ulimit -u\\n")\
		exit(125)
}
