# For the runtime's signal_unix.go: a shim subscribes to signals without the runtime's extra thread, in
# which each signal is unblocked in turn. The two threads wait for each other at each signal, which took
# a tenth of a call. The shim unblocks what its caller has blocked itself: see unblock in shim.
/^func sigenable(/,/^}/ {
	s|^\t\tensureSigM()$|\t\t// hostexec: see signals.sed|
	/^\t\tenable[A-Za-z]*Chan <- sig$/d
	/^\t\t<-maskUpdatedChan$/d
}

# Go handles all signals, and ignores or reports those without a subscriber. Of these signals a shim dies instead, as a
# local command does: of XFSZ for its own writes too, of PROF, and of real-time signals (35 to 64). The shim
# forwards all other fatal signals but PIPE. Fewer system calls also make its start faster.
/^func initsig/,/^}/ {
	s|i < _NSIG; i++ {$|i < 35; i++ { // hostexec: see signals.sed|
	s,if t.flags == 0 ,&|| i == _SIGXFSZ || i == _SIGPROF /* hostexec: see signals.sed */ ,
}
