#!/usr/bin/env bash
# Lets schemathesis look for requests to which the server at MANCALA_URL answers otherwise than the document says.
# The server should run with MANCALA_ADDRESS_LIMIT=0 and MANCALA_LIMITS=off; FUZZ_EXAMPLES is the number of examples for each operation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

post() {
    curl --silent --show-error --fail --request POST --header 'Content-Type: application/json' "${@:3}" \
        --data "$2" "$MANCALA_URL$1"
}
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

guest() { post /v1/guests '{"name": "Ana"}' | field access_token; }
account() { post /v1/accounts "{\"username\": \"$1\", \"password\": \"$MANCALA_PASSWORD\"}" | field access_token; }

export PYTHONPATH=$PWD PYTHONDONTWRITEBYTECODE=1
# Not those of the examples, which would change the password once and for all.
export MANCALA_USERNAME=fuzzed MANCALA_PASSWORD='three pits, nine stones'
# Signed in to so often that its oldest sessions end.
account "$MANCALA_USERNAME" >/dev/null
MANCALA_TOKEN=$(account anna)
# It becomes a bot.
MANCALA_TOKEN_OF_A_BOT=$(account berta)
# The answer tells its recovery codes, and whoever uses one ends its sessions.
MANCALA_TOKEN_OF_A_GUEST=$(guest)
# Each does once what ends the session, after which it could do nothing else.
MANCALA_TOKEN_OF_A_LEAVER=$(guest)
MANCALA_TOKEN_TO_END=$(guest)
MANCALA_TOKEN_TO_END_ALL=$(guest)
MANCALA_TOKEN_TO_END_BY_ID=$(guest)
export MANCALA_TOKEN MANCALA_TOKEN_OF_A_BOT MANCALA_TOKEN_OF_A_GUEST MANCALA_TOKEN_OF_A_LEAVER \
    MANCALA_TOKEN_TO_END MANCALA_TOKEN_TO_END_ALL MANCALA_TOKEN_TO_END_BY_ID

fuzz() {
    .venv/bin/schemathesis --config-file schemathesis.toml run ../openapi/openapi.json --url "$MANCALA_URL" \
        --max-examples "$1" --seed "${FUZZ_SEED:-20}" --no-color
}
examples=${FUZZ_EXAMPLES:-30}
echo "== People"
fuzz "$examples"
# Whoever was signed out on the way has met nothing but refusals since.
for token in MANCALA_TOKEN MANCALA_TOKEN_OF_A_BOT; do
    answer=$(curl --silent --header "Authorization: Bearer ${!token}" "$MANCALA_URL/v1/me")
    if [[ $answer == *'"code":"token_'* ]]; then
        echo "Whoever has $token was signed out while the others were fuzzed: $answer" >&2
        exit 1
    fi
done

echo "== A program"
scopes='["games:read", "games:play", "groups", "ranked", "profile"]'
program=$(post /v1/me/tokens "{\"name\": \"fuzz\", \"scopes\": $scopes}" \
    --header "Authorization: Bearer $(account clara)" | field token)
MANCALA_TOKEN=$program MANCALA_TOKEN_OF_A_BOT=$program MANCALA_TOKEN_OF_A_GUEST=$program MANCALA_TOKEN_OF_A_LEAVER=$program \
    MANCALA_TOKEN_TO_END=$program MANCALA_TOKEN_TO_END_ALL=$program MANCALA_TOKEN_TO_END_BY_ID=$program \
    fuzz $(((examples + 2) / 3))
