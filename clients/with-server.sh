#!/usr/bin/env bash
# Runs a command against a server of its own: one on a free port, with a new private database, both gone afterwards.
#   clients/with-server.sh COMMAND [ARGUMENT…]
# The command finds the server's address in MANCALA_URL. Settings of the server (MANCALA_ADDRESS_LIMIT, …) are passed
# on; MANCALA_BIN names the program, which is otherwise built. MANCALA_SERVER_LOG keeps the log.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [[ -z ${MANCALA_BIN:-} ]]; then
    cargo build --quiet --manifest-path "$root/Cargo.toml"
    MANCALA_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/mancala-server
fi

# Short, since a socket's path has a limit, and open to pass through: root's database runs as another user.
folder=$(mktemp -d /tmp/mancala-XXXXXX)
chmod 711 "$folder"
log=${MANCALA_SERVER_LOG:-$folder/server.log}
server=

finish() {
    status=$?
    trap - EXIT INT TERM
    if [[ -n $server ]]; then
        kill -TERM "$server" 2>/dev/null || true
        if ! wait "$server"; then
            echo "The server did not stop in good order:" >&2
            tail -n 40 "$log" >&2
            [[ $status -ne 0 ]] || status=1
        fi
    fi
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The system chooses the port, and the server tells it.
env -u DATABASE_URL MANCALA_LISTEN=127.0.0.1:0 MANCALA_DATA_DIR="$folder/data" MANCALA_LOG="${MANCALA_LOG:-warn}" \
    "$MANCALA_BIN" serve </dev/null >"$log" 2>&1 &
server=$!

MANCALA_URL=
for _ in $(seq 600); do
    MANCALA_URL=$(sed -n 's|.*listens on \(http://[0-9.:]*\).*|\1|p' "$log")
    [[ -z $MANCALA_URL ]] || break
    if ! kill -0 "$server" 2>/dev/null; then
        echo "The server ended before it was ready:" >&2
        tail -n 40 "$log" >&2
        server=
        exit 1
    fi
    sleep 0.1
done
if ! curl --silent --fail --retry 30 --retry-delay 1 --retry-all-errors --max-time 5 --output "$folder/ready" \
    "$MANCALA_URL/readyz"; then
    echo "The server is not ready:" >&2
    tail -n 40 "$log" >&2
    exit 1
fi

export MANCALA_URL
"$@"
