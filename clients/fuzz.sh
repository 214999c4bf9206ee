#!/usr/bin/env bash
# Lets schemathesis look for requests to which the server at MANCALA_URL answers otherwise than the document says.
# The server should run with MANCALA_ADDRESS_LIMIT=0 and MANCALA_LIMITS=off; FUZZ_EXAMPLES is the number of examples for each operation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

token() {
    curl --silent --show-error --fail --request POST --header 'Content-Type: application/json' \
        --data '{"name": "Ana"}' "$MANCALA_URL/v1/guests" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])'
}
MANCALA_TOKEN=$(token)
MANCALA_TOKEN_OF_A_LEAVER=$(token)
export MANCALA_TOKEN MANCALA_TOKEN_OF_A_LEAVER PYTHONPATH=$PWD PYTHONDONTWRITEBYTECODE=1

.venv/bin/schemathesis --config-file schemathesis.toml run ../openapi/openapi.json --url "$MANCALA_URL" \
    --max-examples "${FUZZ_EXAMPLES:-60}" --seed "${FUZZ_SEED:-20}" --no-color
