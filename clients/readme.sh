#!/usr/bin/env bash
# Runs the commands of the README as they are pasted, from playing a game to a ranked one, against the server at MANCALA_URL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

session=$(awk '/^## / { tour = /Play a game|Keep it|Ask the computer|Ranked games/ } /^```$/ { block = 0 } tour && block; /^```sh$/ { block = 1 }' README.md |
    sed "s|^URL=.*|URL=$MANCALA_URL/v1|")
[[ -n $session ]] || { echo "The README has no session." >&2; exit 1; }
output=$(bash -c "$session")
echo "$output"
[[ $output == played$'\n'"[kalah "* ]] || { echo "The session did not play a game to its end." >&2; exit 1; }
for field in '"username":' '"items":' '"nodes":' '"reasons":' '"turning_points":' '"smallest":' '"formula":'; do
    [[ $output == *"$field"* ]] || { echo "The session shows no $field" >&2; exit 1; }
done
