#!/usr/bin/env bash
# Runs the commands of the README as they are pasted, from "Play a game" to "With friends", against the server at MANCALA_URL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

session=$(awk '/^## / { tour = /Play a game|Ask the computer/ } /^```$/ { block = 0 } tour && block; /^```sh$/ { block = 1 }' README.md |
    sed "s|^URL=.*|URL=$MANCALA_URL/v1|")
[[ -n $session ]] || { echo "The README has no session." >&2; exit 1; }
output=$(bash -c "$session")
echo "$output"
[[ $output == played$'\n'"[kalah "* ]] || { echo "The session did not play a game to its end." >&2; exit 1; }
for field in '"nodes":' '"reasons":' '"turning_points":'; do
    [[ $output == *"$field"* ]] || { echo "The session shows no $field" >&2; exit 1; }
done
