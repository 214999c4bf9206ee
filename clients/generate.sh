#!/usr/bin/env bash
# Generates a Python and a TypeScript client into generated/, from both forms of the document, leaving nothing out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
rm -rf generated
mkdir generated

declare -A name=([openapi]=mancala_client [openapi-3.0]=mancala_client_3_0)
for form in openapi openapi-3.0; do
    log=generated/${name[$form]}.log
    # What it cannot generate it leaves out with a warning.
    .venv/bin/openapi-python-client generate --path "../openapi/$form.json" --config openapi-python-client.yaml \
        --meta none --output-path "generated/${name[$form]}" --fail-on-warning >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
    if grep --ignore-case --extended-regexp 'warning|will not be generated|error' "$log" >&2; then
        exit 1
    fi
    # The mark of a package with types, which is left out with --meta none.
    touch "generated/${name[$form]}/py.typed"
    node_modules/.bin/openapi-typescript "../openapi/$form.json" --output "generated/${name[$form]}.d.ts" >/dev/null
done

# Each operation has its function in the one and its entry in the other.
node --input-type=module <<'JS'
import { readFileSync, readdirSync } from "node:fs";

const document = JSON.parse(readFileSync("../openapi/openapi.json", "utf8"));
const ids = Object.values(document.paths).flatMap((item) => Object.values(item).map((operation) => operation.operationId));
for (const client of ["mancala_client", "mancala_client_3_0"]) {
  const modules = new Set(readdirSync(`generated/${client}/api`, { recursive: true }).map((path) => path.split("/").pop()));
  const types = readFileSync(`generated/${client}.d.ts`, "utf8");
  const missing = ids.filter((id) => !modules.has(`${id}.py`) || !types.includes(`operations["${id}"]`));
  if (ids.length === 0 || missing.length > 0) {
    console.error(`${client} lacks ${missing.join(", ") || "everything"}`);
    process.exit(1);
  }
}
console.log(`${ids.length} operations in each client`);
JS
