#!/usr/bin/env bash
# Type-checks both clients and plays a game with each against the server at MANCALA_URL. Needs generate.sh before it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export PYTHONPATH=$PWD/generated PYTHONDONTWRITEBYTECODE=1

.venv/bin/mypy --strict --cache-dir=/dev/null play.py
.venv/bin/python play.py
node_modules/.bin/tsc --project tsconfig.json
node generated/js/play.js
