#!/usr/bin/env bash
# Checks both forms of the OpenAPI document: that they are what the program says, and what two linters think of them.
# MANCALA_BIN names the program, which is otherwise built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true

bin=${MANCALA_BIN:-}
if [[ -z $bin ]]; then
    cargo build --quiet --manifest-path ../Cargo.toml
    bin=${CARGO_TARGET_DIR:-../target}/debug/mancala-server
fi
"$bin" openapi | diff - ../openapi/openapi.json
"$bin" openapi --v3.0 | diff - ../openapi/openapi-3.0.json

for document in ../openapi/openapi.json ../openapi/openapi-3.0.json; do
    node_modules/.bin/redocly lint --config redocly.yaml "$document"
    node_modules/.bin/spectral lint --ruleset .spectral.yaml --fail-severity warn "$document"
done
