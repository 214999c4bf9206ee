#!/usr/bin/env bash
# Plays the game of the README as it is pasted, against the server at MANCALA_URL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

session=$(awk '/^URL=/ { found = 1 } found && /^```$/ { exit } found' README.md | sed "s|^URL=.*|URL=$MANCALA_URL/v1|")
[[ -n $session ]] || { echo "The README has no session." >&2; exit 1; }
output=$(bash -c "$session")
echo "$output"
[[ $output == played$'\n'"[kalah "* ]] || { echo "The session did not play a game to its end." >&2; exit 1; }
