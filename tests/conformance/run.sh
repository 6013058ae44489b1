#!/usr/bin/env bash
# The protocol's own suites against this server: conformance over HTTP, the inspector over HTTP and stdio, each
# in both eras. Everything from npm goes into .tools/, pinned in package.json. Ends with "N passed, N failed".
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON_BIN:-$root/.venv/bin/python}
tools=$root/.tools
passed=0 failed=0 expected=0

if ! command -v npm > /dev/null; then
  echo "skipped: the conformance suites need npm, which is not installed"
  exit 0
fi

if ! cmp -s "$here/package.json" "$tools/package.json" || [ ! -x "$tools/node_modules/.bin/node" ]; then
  echo "installing node, conformance and inspector into .tools/ (350 MB)"
  mkdir -p "$tools"
  rm -f "$tools/package.json" "$tools/package-lock.json"
  cp "$here/package.json" "$tools/package.json.new"
  mv "$tools/package.json.new" "$tools/package.json"
  if ! (cd "$tools" && npm install --no-audit --no-fund --loglevel=error > npm.log 2>&1); then
    rm -f "$tools/package.json"
    tail -n 5 "$tools/npm.log"
    echo "skipped: npm could not install the conformance suites; see .tools/npm.log"
    exit 0
  fi
fi
export PATH=$tools/node_modules/.bin:$PATH MCP_INSPECTOR_SECRET_STORE=memory NO_COLOR=1

home=$(mktemp -d)
export PMM_MCP_DB=$home/ledger.db PMM_MCP_LOG_DIR=$home PMM_MCP_TOOLSETS=all PYTHONPATH=$root
server=
finish() {
  [ -n "$server" ] && kill "$server" 2> /dev/null && wait "$server" 2> /dev/null
  rm -rf "$home"
}
trap finish EXIT
cd "$home" || exit 1

"$python" "$here/serve.py" 2> "$home/stderr" &
server=$!
for _ in $(seq 200); do
  url=$(sed -n 's/^pmm-mcp: serving //p' "$home/stderr")
  [ -n "$url" ] && break
  sleep 0.1
done
if [ -z "$url" ]; then
  cat "$home/stderr"
  echo "the server did not start"
  exit 1
fi

plain() { sed 's/\x1b\[[0-9;]*m//g'; }

# The names with this mark below this heading of a report, up to the next empty line; a scenario that checked
# nothing does not count.
below() {
  awk -v heading="$2" -v mark="$3" '
    index($0, heading) == 1 { on = 1; next }
    /^$/ { on = 0 }
    on && $1 == mark && $0 !~ /: 0 passed/ { sub(/:$/, "", $2); print $2 }
  ' "$1"
}

for revision in 2025-11-25 2026-07-28; do
  out=$home/$revision.txt
  conformance server --url "$url" --requirements "$revision" \
    --expected-failures "$here/expected-$revision.yml" 2>&1 | plain > "$out"
  code=${PIPESTATUS[0]}
  below "$out" "Expected failures" "~" > "$home/known"
  known=$(wc -l < "$home/known")
  good=$(below "$out" "=== SUMMARY" "✓" | grep -cvxFf "$home/known")
  bad=$({ below "$out" "Unexpected failures" "✗"; below "$out" "Stale baseline" "✓"; } | wc -l)
  [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
  echo "conformance $revision: $good scenarios passed, $known expected not to, $bad failed; checks: $(sed -n 's/^Total: //p' "$out")"
  [ "$bad" -gt 0 ] && sed -n '/^Total:/,$p' "$out"
  passed=$((passed + good)) failed=$((failed + bad)) expected=$((expected + known))
done

inspect() {
  local name=$1
  shift
  if timeout 60 mcp-inspector --cli "$@" > "$home/out" 2> "$home/err"; then
    echo "inspector $name: passed"
    passed=$((passed + 1))
  else
    echo "inspector $name: failed"
    tail -n 20 "$home/err" "$home/out"
    failed=$((failed + 1))
  fi
}

for era in legacy modern; do
  for transport in http stdio; do
    target=("$python" -m pmm_mcp)
    [ "$transport" = http ] && target=("$url" --transport http)
    inspect "$transport $era tools/list --strict" "${target[@]}" --protocol-era "$era" \
      --method tools/list --strict --format json
    inspect "$transport $era tools/call" "${target[@]}" --protocol-era "$era" \
      --method tools/call --tool-name pmm_record --tool-args-json "{\"content\":\"$transport, $era\"}"
    inspect "$transport $era resources/read" "${target[@]}" --protocol-era "$era" \
      --method resources/read --uri pmm://wake-up
  done
done

echo "$expected scenarios were expected not to pass; tests/conformance/expected-*.yml say why"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
