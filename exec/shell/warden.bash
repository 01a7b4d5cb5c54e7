# The warden keeps one shell of a container for the host, which talks to it over its stdio.
#
#   host --stdin--> ear --in--> shell, copies of it --news--> main --stdout--> host
#
# in and news are FIFOs. The shell reads its lines from in; what it and its copies have to
# tell, a pid for one, they write into news. What commands write goes to files, as on the
# host, of which main sends what the host asks for: it never waits for the host to read.
#
# When the host goes, which is the end of stdin, all that carries the shell's marker ends.

set +o posix
set -f
IFS=$' \t\n' id=$1 from=$2
shift 2

# look reads who is whose child, what runs, since when, in which session and with which
# marker: by number, into the arrays up, begun, sid and mark. What is no more is not there.
look() {
	local all p line f v
	up=() begun=() sid=() mark=()
	set +f
	all=(/proc/[0-9]*)
	set -f
	for p in "${all[@]}"; do
		line= v= p=${p#/proc/}
		{ IFS= read -r -d '' line <"/proc/$p/stat"; } 2>/dev/null
		f=(${line##*)}) # the name is whatever the process likes
		[[ ${f[0]} && ${f[0]} != [ZX] ]] || continue
		up[p]=${f[1]} sid[p]=${f[3]} begun[p]=${f[19]}
		while IFS= read -r -d '' v; do
			[[ $v == HOSTEXEC_REQUEST_ID=* ]] && { mark[p]=.${v#*=}.; break; }
		done 2>/dev/null <"/proc/$p/environ"
	done 2>/dev/null
}

# below adds to alive, which it empties first, the processes $@ and all below them, parents
# first.
below() {
	local p i
	local -a kids=() seen=()
	for p in "${!up[@]}"; do kids[up[p]]+=" $p"; done
	alive=("$@")
	for ((i = 0; i < ${#alive[@]}; i++)); do
		p=${alive[i]}
		[[ ${seen[p]} || ! ${up[p]} ]] && { alive[i]=; continue; }
		seen[p]=1
		alive+=(${kids[p]})
	done
	alive=(${alive[@]})
}

# orphans adds to roots what request $1 has left without a parent. What only forked has the
# marker that the shell itself was born with.
orphans() {
	local p
	for p in "${!mark[@]}"; do
		((p == shell)) && continue
		if [[ ${mark[p]} == *".$1."* ]] || { [[ ${mark[p]} == ".$id." && ! ${mark[up[p]]} ]] && ((begun[p] >= since)); }; then
			roots+=("$p")
		fi
	done
}

# grown is what request $1 has started: children that the shell did not have before, orphans,
# and all below. branch is the copy $2 of the shell, orphans, and all below.
grown() {
	local p roots=()
	look
	for p in "${!up[@]}"; do
		((up[p] == shell && begun[p] >= since)) && [[ $had != *" $p "* ]] && roots+=("$p")
	done
	orphans "$1"
	below "${roots[@]}"
}
branch() {
	local roots=("$2")
	look
	orphans "$1"
	below "${roots[@]}"
}

# everything is what the shell has started, and the shell. A session is the warden's.
everything() {
	local p roots=()
	look
	for p in "${!up[@]}"; do
		((p == $$ || p == BASHPID || p == ear)) && continue
		[[ ${mark[p]} == *".$id."* ]] && roots+=("$p")
	done
	below "${roots[@]}"
}

now() { # in milliseconds
	if [[ $EPOCHREALTIME ]]; then
		t=${EPOCHREALTIME/[.,]/}
		t=$((t / 1000))
	else
		t=$((SECONDS * 1000))
	fi
}

# finish ends what $2... finds, children before parents: TERM, KILL after $1 ms. It is over
# when nothing was found twice: in the middle of its exec nobody has a marker.
finish() {
	local grace=$1 t first i p none=0 rounds=0
	local -a alive told=()
	shift
	now
	first=$t
	while "$@"; do
		((${#alive[@]})) && none=0 || ((++none < 2)) || return
		now
		((t - first >= grace && ++rounds > 20 && t - first > grace + 2000)) && return
		for ((i = ${#alive[@]} - 1; i >= 0; i--)); do
			p=${alive[i]}
			if ((t - first >= grace)); then
				kill -KILL "$p"
			elif [[ ! ${told[p]} ]]; then
				told[p]=1
				kill -TERM "$p"
				kill -CONT "$p"
			fi
		done 2>/dev/null
		IFS= read -r -t 0.02 -u 9
	done
}

# leave ends the shell, which minds no TERM, after those whose parent it is.
leave() {
	local alive i
	everything
	for ((i = ${#alive[@]} - 1; i >= 0; i--)); do kill -TERM "${alive[i]}"; done
	kill -HUP "$shell"
	finish "${grace:-5000}" everything
} 2>/dev/null

if [[ $0 == hostexec-sweeper ]]; then # the warden was killed, and its directory is $from
	exec 9<&0
	finish 5000 everything
	rm -rf -- "$from"
	exit
fi

fail() {
	printf 'fail %s\n' "$1"
	exit 1
}

((BASH_VERSINFO[0] > 4 || BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 3)) || fail "its bash is $BASH_VERSION, and 4.3 is wanted"
for tool in mkdir mkfifo mv rm dd base64 wc; do
	hash "$tool" 2>/dev/null || fail "it has no $tool"
done
d=
for tmp in "$TMPDIR" /tmp /var/tmp /dev/shm; do
	[[ $tmp == /* && $tmp != *[[:cntrl:]]* && -d $tmp && -w $tmp ]] || continue
	d=$tmp/hostexec-$id
	mkdir -m 700 -- "$d" 2>/dev/null && mkfifo -m 600 -- "$d/in" "$d/news" "$d/never" 2>/dev/null && break
	rm -rf -- "$d" 2>/dev/null
	d=
done
[[ $d ]] || fail 'none of $TMPDIR, /tmp, /var/tmp and /dev/shm can be written to'

# Opened both ways, for then nobody waits for another one. A group of its own has the shell
# hear INT, and its kill 0 not end the warden.
exec 7<>"$d/in" 8<>"$d/news" 9<>"$d/never"
set -m
(
	unset -v BASH_ENV BASH_XTRACEFD ENV HISTFILE IGNOREEOF MAIL MAILCHECK MAILPATH OLDPWD POSIXLY_CORRECT PROMPT_COMMAND PS0 PS1 PS2 TMOUT
	export -n BASHOPTS SHELLOPTS
	export HOSTEXEC_REQUEST_ID="$id"
	(($#)) && export -- "$@"
	[[ $from ]] && { cd -- "$from" || cd || cd /; }
	exec -a bash "$BASH" --norc --noediting +o history +H +m -i
) <"$d/in" >/dev/null 2>&1 7>&- 8>&- 9>&- &
shell=$!
set +m

# ear does what the host says: a line, which says how many bytes follow it.
ear() {
	local verb a b c text alive p grace=
	LC_ALL=C
	while IFS=' ' read -r verb a b c; do
		case $verb in
		open) : >"$d/$a.out" >"$d/$a.err" && printf 'open %s\n' "$a" >&8 ;;
		file)
			IFS= read -r -d '' -N "$b" text
			printf %s "$text" >"$d/$a"
			;;
		look)
			had=
			read -r had <"/proc/$shell/task/$shell/children"
			had=" $had "
			read -r since a </proc/uptime
			since=${since/./} # as begun, in hundredths of a second
			;;
		say)
			IFS= read -r -d '' -N "$a" text
			printf %s "$text" >&7
			;;
		int)
			kill -INT "$shell"
			grown "$a"
			for p in "${alive[@]}"; do kill -INT "$p"; done
			;;
		signal) kill "-$a" "$shell" ;;
		prune) (
			finish "$b" grown "$a"
			printf 'did %s\n' "$c" >&8
		) & ;;
		cut) (
			finish "$b" branch "${a%.*}" "${a#*.}"
			printf 'did %s\n' "$c" >&8
		) & ;;
		want | rest | size | close) printf '%s %s %s\n' "$verb" "$a" "$b" >&8 ;;
		end)
			grace=$a
			break
			;;
		esac 2>/dev/null
	done
	printf 'bye %s\n' "$grace" >&8
}
ear <&0 >/dev/null 2>&1 &
ear=$!
exec 0</dev/null
trap '' HUP INT PIPE
trap bye=1 TERM

# send sends of stream $2 of request $1 what was not sent, as many chunks as the host wants; if
# it is over, an empty one when there is no more. What there is, is known by its first byte:
# that takes no process.
send() {
	local key=$1.$2 byte verb form
	while ((wanted[$key] > 0)); do
		byte= verb=data form=%s
		[[ ${over[$1]} ]] && verb=last
		if IFS= read -r -d '' -n 1 -u "${open[$key]}" byte; then
			[[ $byte ]] || form='\0%s'
			printf '%s %s\n' "$verb" "$key"
			{ printf "$form" "$byte"; dd bs=65535 count=1 <&"${open[$key]}"; } 2>/dev/null | base64
			printf '.\n'
			((wanted[$key]--))
		else
			[[ $verb == last ]] && printf 'last %s\n.\n' "$key" && wanted[$key]=0
			return
		fi
	done
}

# told says how command $1 has ended, and where the shell stands then.
told() {
	local code= f
	[[ ${ended[$1]} ]] && return
	[[ -e $d/$1.exit ]] && read -r code <"$d/$1.exit"
	if [[ ! $code ]]; then # it has not ended, or the disk was full
		set +f
		for f in "$d/$1.exit".[0-9]*; do code=${f##*.}; done
		set -f
		[[ $code == [0-9]* ]] || return
		trash+=("$f")
	fi
	ended[$1]=1
	cd -P "/proc/$shell/cwd" && printf 'at %s\n' "${PWD//[[:cntrl:]]/?}"
	cd /
	printf 'exit %s %d\n' "$1" "$code"
} 2>/dev/null

copied() {
	[[ $2 && ! ${copy[$1]} ]] || return
	copy[$1]=$2
	printf 'pid %s %d\n' "$1" "$2"
}

# lives is whether $1 runs: of an orphan that nobody reaps there is a number still.
lives() {
	local line= f
	{ IFS= read -r -d '' line <"/proc/$1/stat"; } 2>/dev/null
	f=(${line##*)})
	[[ ${f[0]} && ${f[0]} != [ZX] ]]
}

forget() {
	exec {open[$1.out]}<&- {open[$1.err]}<&-
	unset -v "live[$1]" "open[$1.out]" "open[$1.err]" "ended[$1]" "copy[$1]" "over[$1]" "wanted[$1.out]" "wanted[$1.err]"
	trash+=("$d/$1".{out,err,cmd,txt,exit,exit.tmp,pid,pid.tmp})
} 2>/dev/null

swept() {
	((${#trash[@]})) && rm -f -- "${trash[@]}" 2>/dev/null
	trash=()
}

# hear does what a line of news says.
hear() {
	case $1 in
	open) exec {open[$2.out]}<"$d/$2.out" {open[$2.err]}<"$d/$2.err" && live[$2]=1 ;;
	pid) [[ ${live[$2]} && $3 == [0-9]* ]] && copied "$2" "$3" ;;
	want) [[ ${live[$2]} ]] && ((wanted[$2.$3] += 1)) ;;
	rest) [[ ${live[$2]} ]] && over[$2]=1 ;;
	size) [[ ${live[$2]} ]] && printf 'size %s %d %d\n' "$2" $(wc -c <"$d/$2.out") $(wc -c <"$d/$2.err") ;;
	close) [[ ${live[$2]} ]] && forget "$2" ;;
	did) printf 'did %d\n' "$2" ;;
	bye) bye=1 grace=$2 ;;
	esac
} 2>/dev/null

declare -A live=() open=() wanted=() over=() ended=() copy=()
trash=() dead= quiet=0 leaver= late=0 wait= line= bye= grace=
LC_ALL=C
printf 'shell %d\n%s\n%s\n%s\n' "$shell" "$BASH" "${BASH_CMDS[mv]}" "$d"
while [[ ! $leaver ]] || kill -0 "$leaver" 2>/dev/null || { [[ $grace ]] && ((${#live[@]} && ++late < 40)); }; do
	part= wait=1 # of one that nobody uses only the end is looked for
	((${#live[@]} || leaver)) && wait=0.05
	if IFS= read -r -t "$wait" -u 8 part; then
		line+=$part
		hear $line
		line=
	else
		line+=$part # it may be in the middle of one
		if [[ $wait == 1 ]] || ((++quiet % 20 == 0)); then
			swept
			kill -0 "$ear" 2>/dev/null && [[ -d $d ]] || bye=1 # the sweeper was here
		fi
	fi
	if [[ $bye && ! $leaver ]]; then
		leave &
		leaver=$!
	fi
	for a in "${!live[@]}"; do
		[[ ${copy[$a]} || ! -e $d/$a.pid ]] || { read -r b <"$d/$a.pid" && copied "$a" "$b"; }
		told "$a"
		send "$a" out
		send "$a" err
		[[ ${copy[$a]} && ! ${ended[$a]} ]] && ! lives "${copy[$a]}" && printf 'lost %s\n' "$a"
	done
	if [[ ! $dead ]] && ! kill -0 "$shell" 2>/dev/null; then
		wait "$shell"
		dead=$?
		for a in "${!live[@]}"; do told "$a"; done
		printf 'dead %d\n' "$dead"
	fi
done
cd /
[[ -d $d ]] || kill -KILL "$ear" 2>/dev/null # it may be telling a shell that did not listen
rm -rf -- "$d"
printf 'left\n'
