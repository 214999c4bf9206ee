#!/usr/bin/env bash
# Installs the pinned tools of this folder into it: node_modules and .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# No package of ours needs a script of its own to be installed.
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

if [[ ! -x .venv/bin/pip ]]; then
    python3 -m venv .venv
fi
.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement requirements.txt
