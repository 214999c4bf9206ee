#!/usr/bin/env bash
# Lets a browser read streams of the server at MANCALA_URL, and cuts them. Needs generate.sh before it, and Chromium;
# MANCALA_BROWSER names another browser that takes the same options.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
node_modules/.bin/tsc --project tsconfig.json
node generated/js/browser.js
