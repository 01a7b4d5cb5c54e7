#!/bin/bash
# The host's side of the file proxy, as its description has it: the measurements compare calls with it. It has no policy.
#
# usage: proxy000.sh DIRECTORY COMMAND
cd "$1" || exit
command=$2

serve() {
	local args
	mapfile -d '' args <"$1.req"
	rm "$1.req"
	"$command" "${args[@]}" >"$1.stdout" 2>"$1.stderr" </dev/null
	echo $? >"$1.exit.tmp"
	mv "$1.exit.tmp" "$1.exit" # the client reads it as soon as it is there
}

inotifywait -m -q -e moved_to --format %f . | while read -r name; do
	case $name in *.req) serve "${name%.req}" & ;; esac
done
