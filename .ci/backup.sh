#!/usr/bin/env bash
# Backs up a PostgreSQL while games are being played on it, restores that into a new database, and looks whether everything
# is there: with the very commands of "Backup and restore" in docs/operations.md. MANCALA_BIN names the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
: "${MANCALA_BIN:=$root/target/debug/mancala-server}"
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)

folder=$(mktemp -d /tmp/mancala-backup-XXXXXX)
chmod 711 "$folder"
mkdir "$folder/bin"
ln -s "$MANCALA_BIN" "$folder/bin/mancala-server"
export PATH=$folder/bin:$programs:$PATH

# PostgreSQL does not run as root.
as=()
if [[ $(id -u) -eq 0 ]]; then
    as=(runuser -u "$(getent passwd postgres >/dev/null && echo postgres || echo nobody)" --)
    chown "${as[2]}" "$folder"
fi
servers=()
finish() {
    status=$?
    trap - EXIT
    for server in "${servers[@]}"; do
        kill -TERM "$server" 2>/dev/null && wait "$server" || true
    done
    "${as[@]}" pg_ctl -D "$folder/pg" -m fast stop >/dev/null 2>&1 || true
    [[ $status -eq 0 ]] || tail -n 20 "$folder"/*.log >&2
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${as[@]}" initdb --pgdata="$folder/pg" --auth=trust --username=postgres >"$folder/initdb.log"
"${as[@]}" pg_ctl -D "$folder/pg" -l "$folder/pg.log" -w start \
    -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off" >/dev/null
psql --quiet --no-psqlrc "postgres://postgres@127.0.0.1:$port/postgres" \
    -c "create role mancala login createdb" -c "create database mancala owner mancala"
export DATABASE_URL=postgres://mancala@127.0.0.1:$port/mancala
export RESTORED_URL=postgres://mancala@127.0.0.1:$port/mancala_restored
MANCALA_JWT_KEYS=$(python3 -c 'import base64, os; print(base64.b64encode(os.urandom(32)).decode())')
export MANCALA_JWT_KEYS

# Starts a server on a database; sets MANCALA_URL.
serve() {
    DATABASE_URL=$2 mancala-server --listen 127.0.0.1:0 --address-limit 0 --log warn >"$folder/$1.log" 2>&1 &
    servers+=($!)
    for _ in $(seq 300); do
        MANCALA_URL=$(sed -n 's|.*listens on \(http://[0-9.:]*\).*|\1|p' "$folder/$1.log")
        [[ -z $MANCALA_URL ]] || break
        sleep 0.1
    done
    [[ -n $MANCALA_URL ]] || { echo "The server does not start." >&2; exit 1; }
    export MANCALA_URL
}

# The commands of the page, block by block.
page() {
    awk -v wanted="$1" '/^## / { here = /^## Backup and restore/ } /^```$/ { block = 0 }
        here && block == wanted; here && /^```sh$/ { block = ++seen }' docs/operations.md
}
[[ -n $(page 1) && -n $(page 2) ]] || { echo "The page has no commands for backup and restore." >&2; exit 1; }

serve first "$DATABASE_URL"
python3 .ci/load.py play "$folder/load" &
load=$!
for _ in $(seq 100); do
    [[ $(wc -l 2>/dev/null <"$folder/load.moves" || echo 0) -lt 100 ]] || break
    kill -0 "$load" || { echo "The load has ended." >&2; exit 1; }
    sleep 0.1
done
cd "$folder"
cp load.moves before.moves
(cd "$root" && page 1) >backup.sh
bash -euo pipefail backup.sh
after=$(wc -l <load.moves)
sleep 1
[[ $(wc -l <load.moves) -gt $after && $after -gt $(wc -l <before.moves) ]] ||
    { echo "Nobody has played during the backup." >&2; exit 1; }
touch load.stop
wait "$load"

(cd "$root" && page 2) >restore.sh
bash -euo pipefail restore.sh

serve second "$RESTORED_URL"
python3 "$root/.ci/load.py" resume load before.moves
DATABASE_URL=$RESTORED_URL mancala-server audit
