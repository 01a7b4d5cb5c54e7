#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs docker hostexec for this user: downloads the plugin for this machine, verifies its checksum, and puts it
# where docker looks for plugins. It needs curl or wget, and sha256sum, shasum or openssl. It needs no root.
#
#   curl -fsSL https://github.com/docker-hostexec/hostexec/releases/latest/download/install.sh | sh
#
# HOSTEXEC_VERSION   the version to install, such as v1.2.3; the latest if unset
# HOSTEXEC_PLUGINS   the directory to install to; cli-plugins in $DOCKER_CONFIG or ~/.docker if unset
# HOSTEXEC_BASE_URL  where releases are, for mirrors
#
# The checksums come from the same place as the plugin: they show damage, not a release that somebody has replaced.
set -eu

say() { printf 'install.sh: %s\n' "$*" >&2; }

fail() {
	say "$@"
	exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# fetch URL FILE
fetch() {
	if have curl; then
		curl -fsSL --retry 3 -o "$2" "$1"
	elif have wget; then
		wget -q -t 3 -O "$2" "$1"
	else
		fail 'curl or wget is needed'
	fi || fail "cannot download $1"
}

# sha256 FILE
sha256() {
	if have sha256sum; then
		sum=$(sha256sum <"$1")
	elif have shasum; then
		sum=$(shasum -a 256 <"$1")
	elif have openssl; then
		sum=$(openssl dgst -sha256 -r <"$1")
	else
		fail 'sha256sum, shasum or openssl is needed to verify the download'
	fi
	printf '%s\n' "${sum%% *}"
}

# platform prints the end of the asset's name. Assets are named like those of docker/buildx.
platform() {
	os=$(uname -s)
	case $os in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	MINGW* | MSYS* | CYGWIN*) os=windows ;;
	*) fail "there is no release for $os: build it from source" ;;
	esac
	arch=$(uname -m)
	case $arch in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	armv7* | armv8l) arch=arm-v7 ;;
	ppc64le | riscv64 | s390x) ;;
	*) fail "there is no release for $arch: build it from source" ;;
	esac
	case $os-$arch in
	linux-* | darwin-arm64 | darwin-amd64) printf '%s-%s\n' "$os" "$arch" ;;
	windows-arm64 | windows-amd64) printf '%s-%s.exe\n' "$os" "$arch" ;;
	*) fail "there is no release for $os on $arch: build it from source" ;;
	esac
}

# asset FILE PLATFORM prints the checksum and the name of this platform's plugin.
asset() {
	found=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]\(hostexec-v[0-9][0-9A-Za-z.+-]*\.$2\)\$/\1 \2/p" "$1")
	case $found in
	'') fail "the release has no plugin for $2" ;;
	*'
'*) fail "the release names more than one plugin for $2" ;;
	esac
	printf '%s\n' "$found"
}

main() {
	base=${HOSTEXEC_BASE_URL:-https://github.com/docker-hostexec/hostexec/releases}
	plugins=${HOSTEXEC_PLUGINS:-${DOCKER_CONFIG:-${HOME:?}/.docker}/cli-plugins}
	from=$base/latest/download
	test -z "${HOSTEXEC_VERSION:-}" || from=$base/download/$HOSTEXEC_VERSION

	target=$(platform)
	sha256 /dev/null >/dev/null # without it, nothing is downloaded
	work=$(mktemp -d)
	new=
	trap 'rm -rf "$work" ${new:+"$new"}' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM

	fetch "$from/checksums.txt" "$work/checksums.txt"
	found=$(asset "$work/checksums.txt" "$target")
	name=${found#* }
	fetch "$from/$name" "$work/plugin"
	sum=$(sha256 "$work/plugin")
	test "$sum" = "${found%% *}" || fail "the checksum of $name is $sum, not ${found%% *}: nothing was installed"

	file=$plugins/docker-hostexec
	test "${target%.exe}" = "$target" || file=$file.exe
	mkdir -p "$plugins"
	new=$plugins/.docker-hostexec.$$ # beside the old one, which a running session may use
	cp "$work/plugin" "$new"
	chmod 755 "$new"
	mv -f "$new" "$file"
	new=
	version=${name#hostexec-}
	printf 'installed docker hostexec %s: %s\n' "${version%."$target"}" "$file"
	case $target in
	linux-*) ;;
	*) say 'sessions are not served on this system yet, only on Linux' ;;
	esac
	have docker || say 'there is no docker here, whose plugin this is'
}

main "$@" # all of the script has arrived
