# For the runtime's signal_unix.go: a shim subscribes to signals without the runtime's extra thread, in
# which each signal is unblocked in turn. The two threads wait for each other at each signal, which took
# a tenth of a call. The shim unblocks what its caller has blocked itself: see unblock in shim.
/^func sigenable(/,/^}/ {
	s|^\t\tensureSigM()$|\t\t// hostexec: see signals.sed|
	/^\t\tenable[A-Za-z]*Chan <- sig$/d
	/^\t\t<-maskUpdatedChan$/d
}
