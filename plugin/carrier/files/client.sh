#!/bin/sh
# A client of docker hostexec: what it is called with is run on the host. It needs a POSIX sh,
# cat, mv, rm and sleep, readlink if it is called through a symbolic link, and uses inotifywait
# where there is one. See docs/files.md.
#
#   HOSTEXEC_TIMEOUT, PROXY_TIMEOUT  how long it may take in all: 30, 30s, 5m, 1h; 0: no limit
#   PROXY_DIR                        the directory of requests, where it is not the usual one
#   HOSTEXEC_STDIN=null              nothing is read from stdin
cmd=@CMD@ # empty: as this file was called
[ -n "$cmd" ] || cmd=${0##*/}

say() { printf 'hostexec: %s: %s\n' "$cmd" "$1" >&2; }
die() { say "$2"; exit "$1"; }

# find NAME sets path to a program of this container, and to none of hostexec's: PATH has proxied
# commands, too, and this script must not call itself. A shell may have the program built in.
set -f
find() {
	old=$IFS IFS=:
	for path in /bin /usr/bin $PATH; do
		path=$path/$1
		own && break
		path=
	done
	IFS=$old
	[ -z "$path" ] || return 0
	path=$(command -v "$1")
	[ "$path" = "$1" ]
}
own() {
	case $path in [!/]* | */hostexec/sh/* | */hostexec/bin/* | */.hostexec/*) return 1 ;; esac
	[ -f "$path" ] && [ -x "$path" ] || return 1
	! [ "$path" -ef "$0" ] && ! [ "$path" -ef /run/hostexec/sh/hostexec ] && ! [ "$path" -ef /run/hostexec/bin/hostexec ]
}
need() { find "$1" || die 125 "this script needs a program that is not in this container: $1"; }

[ -z "${HOSTEXEC_WITHIN-}" ] || die 125 "this script needs the container's own $cmd, and found itself in its place"
export HOSTEXEC_WITHIN=1
need cat && cat=$path
need mv && mv=$path
need rm && rm=$path
need sleep && sleep=$path

# here sets dir to where this script lies, through symbolic links.
here() {
	case $0 in */*) at=$0 ;; *) at=./$0 ;; esac
	while [ -h "$at" ] && find readlink; do
		to=$("$path" "$at")
		case $to in /*) at=$to ;; *) at=${at%/*}/$to ;; esac
	done
	dir=${at%/*}
	[ -e "$dir/$cmd.pid" ] # a copy lies anywhere
}

dir=@DIR@
dir=${PROXY_DIR:-$dir}
if [ ! -d "$dir" ] && [ -z "${PROXY_DIR-}" ] && ! here; then
	die 125 "no directory for requests: $dir: PROXY_DIR names the one of docker hostexec proxy, such as .hostexec/proxy/$cmd"
fi

# seconds TEXT sets n.
seconds() {
	n=${1%[smh]}
	case $n in '' | *[!0-9]*) return 1 ;; esac
	while case $n in 0?*) true ;; *) false ;; esac do n=${n#0}; done
	case $1 in *m) n=$((n * 60)) ;; *h) n=$((n * 3600)) ;; esac
}

# now sets t, in hundredths of a second.
now() {
	if read -r t _ 2>/dev/null </proc/uptime; then t=${t%.*}${t#*.}
	else need date && t=$("$path" +%s)00; fi
}

# A call ends when nothing is heard of the host for so long.
limit=30000
# Its own limit; 0: none. The host knows it, too, if it is HOSTEXEC_TIMEOUT, or the option before the command's name.
total=0 known=${HOSTEXEC_TIMEOUT-} option=
if [ "$cmd" = hostexec ]; then
	case ${1-} in logs | wait) known=0 ;; esac # they follow jobs
	for word do
		if [ -n "$option" ]; then # word is its value
			[ "$option" != --timeout ] || known=$word
			option=
			continue
		fi
		case $word in
		--timeout=*) known=${word#*=} ;;
		--timeout | --env | --wait-for-log | --wait-for-port | --wait-timeout) option=$word ;;
		-- | - | [!-]* | '') break ;;
		esac
	done
fi
if [ -n "$known" ]; then
	if seconds "$known"; then total=$((n * 100)); fi # any other is the host's to judge
elif [ -n "${PROXY_TIMEOUT-}" ]; then
	seconds "$PROXY_TIMEOUT" || die 125 "PROXY_TIMEOUT: want a time such as 30, 30s, 5m or 0 for none: $PROXY_TIMEOUT"
	total=$((n * 100))
fi

if [ ! -d "$dir" ] || [ ! -w "$dir" ]; then
	die 125 "no directory for requests: $dir: is docker hostexec running on the host?"
fi
@SERVED@
read -r id 2>/dev/null </proc/sys/kernel/random/uuid || {
	need od && id=
	for n in $("$path" -An -N16 -tx1 /dev/urandom); do id=$id$n; done
}
f=$dir/$id
umask 022

tidy() {
	[ -z "$pump" ] || kill "$pump" 2>/dev/null
	[ -z "$pulse" ] || kill "$pulse" 2>/dev/null
	"$rm" -f "$f.req" "$f.req.tmp" "$f.cmd" "$f.alive" "$f.stdin" "$f.eof" "$f.beat" "$f.stdout" "$f.stderr" "$f.status" "$f.exit"
}

# leave SIGNAL|TIME: the host ends the command, and removes what it finds of this call.
leave() {
	if [ -e "$f.req" ] && "$rm" "$f.req" 2>/dev/null; then gone=; else echo "$1" >"$f.cancel"; fi
	tidy
}
quit() { leave "$1"; trap - "$1"; kill -s "$1" $$; exit 125; }
pump= pulse= open=
trap 'quit HUP' HUP
trap 'quit INT' INT
trap 'quit TERM' TERM

# unwritten FILE: the disk is full if a file can be created, but not written.
unwritten() {
	why=$dir
	[ ! -e "$1" ] || why="no space left in $dir"
	tidy
	die 125 "the request cannot be written: $why"
}
{ [ $# -eq 0 ] || printf '%s\0' "$@"; } 2>/dev/null >"$f.req.tmp" || unwritten "$f.req.tmp"
set -- "$cmd" "cwd=$(pwd -P)" alive=1
if [ "${HOSTEXEC_STDIN-}" != null ] && [ ! -t 0 ] && [ -e /proc/self/fd/0 ] && ! [ /proc/self/fd/0 -ef /dev/null ]; then
	exec 5<&0
	set -- "$@" stdin=stream
fi
for name in TERM COLUMNS LINES NO_COLOR HOSTEXEC_JSON HOSTEXEC_TIMEOUT HOSTEXEC_APPROVAL_TIMEOUT HOSTEXEC_STDIN @PASS@; do
	eval "[ -z \"\${$name+x}\" ] || set -- \"\$@\" \"env=$name=\$$name\""
done
printf '%s\0' "$@" 2>/dev/null >"$f.cmd" || unwritten "$f.cmd"
"$mv" "$f.req.tmp" "$f.req" || unwritten ''

# beat shows the host that this is still here.
beat() {
	( while kill -0 $$ && echo >>"$f.alive" && "$sleep" 1; do :; done ) >/dev/null 2>&1 <&- &
	pulse=$!
}

# feed passes stdin on; the file is there when the host wants it.
feed() {
	( trap 'kill $c; exit' TERM
	"$cat" <&5 >>"$f.stdin" & c=$!
	wait $c && : >"$f.eof" ) >/dev/null 2>&1 &
	pump=$!
}

# show copies what has come since the last time: the shell's descriptors know where that was.
show() {
	if [ -z "$open" ]; then
		[ -e "$f.stdout" ] && [ -e "$f.stderr" ] || return 0
		exec 3<"$f.stdout" 4<"$f.stderr" || return 0
		open=1
	fi
	if [ -s "$f.stdout" ]; then "$cat" <&3 || { leave PIPE; exit 141; }; fi
	if [ -s "$f.stderr" ]; then "$cat" <&4 >&2 || { leave PIPE; exit 141; }; fi
}

# at N sets pos to how much has been read of descriptor N, if the system says.
at() {
	pos=
	while read -r key val; do [ "$key" != pos: ] || pos=$val; done 2>/dev/null <"/proc/self/fdinfo/$1"
}

# pause waits for some seconds, or for one where sleep(1) knows no fractions.
pause() { "$sleep" "$1" 2>/dev/null || "$sleep" 1 || { leave TERM; exit 125; }; }

# nap waits, longer the longer nothing happens.
nap() {
	naps=$((naps + 1))
	if [ $naps -le 4 ]; then pause 0.002
	elif [ $naps -le 16 ]; then pause 0.01
	elif [ -n "$waiter" ]; then "$waiter" -qq -t 1 -e create -e moved_to -e modify "$dir" >/dev/null 2>&1 || [ $? = 2 ] || waiter=
	else pause 0.1; fi
}

waiter=
! find inotifywait || waiter=$path
naps=0 last='' heard='' missed='' was=
now
began=$t quiet=$t
while [ ! -e "$f.exit" ]; do
	show
	[ -e "$f.exit" ] && break
	if [ -n "$open" ] && { at 3; heard=$pos; at 4; heard=$heard.$pos; [ "$heard" != "$last" ]; }; then
		last=$heard naps=0
	fi
	[ -n "$pump" ] || ! [ -e "$f.stdin" ] || feed
	[ -n "$pulse" ] || [ $naps -lt 16 ] || beat
	nap
	now
	# One of these is there until the call is over. A file system may show things late, thus two seconds.
	if [ -e "$f.stdout" ] || [ -e "$f.cmd" ] || [ -e "$f.exit" ]; then missed=
	elif [ $((t - ${missed:=$t})) -ge 200 ]; then
		tidy
		die 125 "the directory of requests was deleted: $dir: the host has ended the command"
	fi
	# The clock also counts the time in which the machine was suspended, and the host could give no sign.
	[ $((t - ${was:=$t})) -lt 2000 ] || quiet=$t
	was=$t
	if [ -r "$f.beat" ]; then read -r b <"$f.beat"; fi 2>/dev/null
	[ "$heard.${b-}.$open" = "${seen-}" ] || { seen=$heard.${b-}.$open quiet=$t; }
	over=$((t - quiet >= limit))
	if [ "$total" -gt 0 ]; then
		max=$total
		[ -z "$known" ] || [ -z "$open" ] || max=$((total + 500)) # the host has its own clock
		[ $((t - began)) -lt "$max" ] || over=1
	fi
	if [ $over = 1 ]; then
		leave TIME
		die 124 "timeout waiting for host to execute command"
	fi
done

# What is announced has to come, however late a file system lets it be seen.
status=
[ ! -r "$f.status" ] || IFS= read -r status <"$f.status"
# all STREAM N: everything of it was read.
all() {
	n=${status#*"\"$1\":"}
	[ "$n" != "$status" ] || return 0
	n=${n%%[!0-9]*}
	at "$2"
	[ -z "$pos" ] || [ "$pos" -ge "${n:-0}" ]
}
tries=0
show
while [ -n "$open" ] && ! { all stdout 3 && all stderr 4; }; do
	tries=$((tries + 1))
	[ $tries -le 100 ] || { tidy; die 125 "some of the output was lost on its way from the host"; }
	pause 0.05
	show
done
read -r code <"$f.exit"
# Not every shell knows whether there is data on a stdin that the host did not want.
case $status in *'"unread":"'*)
	why=${status#*'"unread":"'}
	(read -t 0 -r _ <&5) 2>/dev/null && printf '%s\n' "${why%%\"*}" >&2 ;;
esac
tidy
case $code in '' | *[!0-9]*) die 125 "the host's answer makes no sense" ;; esac
signal=${status#*'"signal":"'}
case ${signal%%\"*} in
HUP | INT | TERM | KILL) [ $$ = 1 ] || { trap - HUP INT TERM; kill -s "${signal%%\"*}" $$; } ;;
esac
exit "$code"
