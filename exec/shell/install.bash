# Reads the program of $2 bytes from stdin into a new directory named $1, with the mode $3, in the first of the
# directories $4... in which this user can write and run programs. It prints "at PATH" before it reads, and "ready"
# after, or "fail REASON". It removes the directory at the end of stdin.

name=$1 size=$2 mode=$3
shift 3
umask 022
set -f

fail() {
	printf 'fail %s\n' "$1"
	exit 1
}

((BASH_VERSINFO[0] > 4 || BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 3)) || fail "its bash is $BASH_VERSION, and 4.3 is wanted"
for tool in cat chmod head mkdir rm; do
	hash "$tool" 2>/dev/null || fail "it has no $tool"
done
trap '' HUP INT PIPE
trap '[[ $dir ]] && rm -rf -- "$dir"' EXIT
trap 'exit 1' TERM

for parent; do
	[[ $parent == /* && $parent != *[[:cntrl:]]* && -d $parent && -w $parent ]] || continue
	dir=${parent%/}/$name
	mkdir -m "$mode" -- "$dir" || { dir= && continue; }
	file=$dir/hostexec-shell
	printf '#!%s\n' "$BASH" >"$file" && chmod 755 "$file" && "$file" </dev/null && break # noexec is found out
	rm -rf -- "$dir"
	dir=
done 2>/dev/null
[[ $dir ]] || fail noexec
printf 'at %s\n' "$file"
rm -f -- "$file"
head -c "$size" >"$file" && chmod 755 "$file" || fail "$parent has no space for hostexec's program, of $size bytes"
printf 'ready\n'
cat >/dev/null
