#!/bin/bash
# The client as the description of the file proxy has it, and not as ours is: what it says
# of each step is the step.
set -e
PROXY_DIR="${PROXY_DIR:-@DIR@}"
uuid=$(cat /proc/sys/kernel/random/uuid)
cd "$PROXY_DIR"
if [ $# -eq 0 ]; then
	: > $uuid.req.tmp && mv $uuid.req.tmp $uuid.req
else
	printf '%s\0' "$@" > $uuid.req.tmp && mv $uuid.req.tmp $uuid.req
fi
deadline=$((SECONDS + ${PROXY_TIMEOUT:-300}))
while [ ! -f $uuid.exit ]; do
	if [ $SECONDS -ge $deadline ]; then
		echo "timeout waiting for host to execute command" >&2
		rm -f $uuid.req
		exit 124
	fi
	if command -v inotifywait >/dev/null; then
		timeout 1 inotifywait -q -e create -e moved_to . >/dev/null 2>&1 || true
	else
		sleep 0.1
	fi
done
trap 'rm -f $uuid.stdout $uuid.stderr $uuid.exit' EXIT
cat $uuid.stdout
cat $uuid.stderr >&2
exit $(cat $uuid.exit)
