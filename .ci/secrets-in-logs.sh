#!/usr/bin/env bash
# Runs tests of the service with everything logged that any crate can log, and then looks for every token, password and
# recovery code that went through the tests. Nothing may be found. The tests that deal with such things are enough:
# arguments name others (none of them: '' runs all).
#   .ci/secrets-in-logs.sh [FILTER…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ $# -gt 0 ]] || set -- identity:: tokens:: accounts sessions password recovery personal attacks:: strangers:: injection::what blocks:: bots:: \
    export deletion privacy habits:: transport::no

folder=$(mktemp -d /tmp/mancala-logs-XXXXXX)
trap 'rm -rf "$folder"' EXIT
MANCALA_TEST_LOGS=$folder cargo test --quiet --locked --test api -- "$@" >"$folder/tests" 2>&1 ||
    { tail -n 60 "$folder/tests" >&2; exit 1; }

# A search that finds nothing proves nothing when there was nothing to find, or nowhere to look.
secrets=$(sort -u "$folder/secrets" | tee "$folder/unique" | wc -l)
lines=$(wc -l <"$folder/log")
for crate in mancala_server sqlx actix; do
    grep -q "TRACE.* $crate\|DEBUG.* $crate\|INFO.* $crate" "$folder/log" || { echo "$crate has logged nothing." >&2; exit 1; }
done
((secrets >= 100)) || { echo "The tests have dealt with $secrets secrets only." >&2; exit 1; }

# As text, as base64 (the token of Basic authentication, for instance), in hexadecimal, and as bytes are printed in Rust.
python3 - "$folder/unique" >"$folder/forms" <<'PYTHON'
import base64, sys
for line in open(sys.argv[1], "rb"):
    secret = line.rstrip(b"\n")
    forms = {secret, secret.hex().encode(), secret.hex().upper().encode(), ", ".join(map(str, secret)).encode()}
    if len(secret) >= 12:
        # Without what depends on its neighbours.
        forms |= {base64.b64encode(secret[skip:])[: -4] for skip in range(3)}
    sys.stdout.buffer.write(b"".join(form + b"\n" for form in forms))
PYTHON
printf 'A line with %s in it\n' "$(head -n 1 "$folder/unique")" >"$folder/sample"
LC_ALL=C grep -q -F -f "$folder/forms" "$folder/sample" || { echo "The search does not work." >&2; exit 1; }
if LC_ALL=C grep -a -m 10 -F -f "$folder/forms" "$folder/log" | cut -c 1-600 | grep . >&2; then
    echo "There are secrets in the log." >&2
    exit 1
fi
echo "$lines lines of log have none of $secrets secrets"
