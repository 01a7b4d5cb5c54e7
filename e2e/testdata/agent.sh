#!/bin/sh
# Takes the place of Claude Code, Codex or aider in tests of the quickstart. It stores a login, creates a file, and calls
# commands of the host.
set -e
name=${0##*/}
case $name-$1-$2 in
codex-login-status) exec test -e "$HOME/.codex-key" ;;
codex-login-*) exec cat >"$HOME/.codex-key" ;;
codex-*) key=$(cat "$HOME/.codex-key") ;;
claude-*) key=$ANTHROPIC_API_KEY ;;
*) key=$OPENAI_API_KEY ;;
esac
cat "$HOME/.$name" 2>/dev/null || echo "$name logs in"
echo "$name has a login" >"$HOME/.$name"
echo "$name is $(whoami) in $HOME with the key $key"
rm -f created
echo "$name" >created
git --version
gh auth status
make hello
echo "the work is done"
