# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The lanes of .ci/run and their bookkeeping. A lane is a function lane_<name>; its output goes to build/ci/<name>.log
# and, where it fails, to the screen. Every ctest entry and every other command started with `check` counts as one.

all_lanes=(install tests checks)
logs=build/ci
passed=0
failed=0

say() { printf '%s\n' "$*"; }

# check <command>...: one counted check inside a lane.
check() {
  if "$@"; then
    say "counted: pass: $*"
  else
    say "counted: FAIL: $*"
  fi
}

# Adds up what the log of a lane counted: check lines and ctest summaries.
count_lane() {
  local log=$1 status=$2 ok bad
  read -r ok bad < <(awk '
    /^counted: pass: / { ok++ }
    /^counted: FAIL: / { bad++ }
    match($0, /^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+/) { bad += $4; ok += $NF - $4 }
    END { print ok + 0, bad + 0 }' "$log")
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  passed=$((passed + ok))
  failed=$((failed + bad))
  lane_failed=$bad
  lane_passed=$ok
}

run_lane() {
  local name=$1 start=$SECONDS status=0 log=$logs/$1.log
  (set -euo pipefail; lane_"$name") >"$log" 2>&1 &
  local child=$!
  wait $child || status=$?
  count_lane "$log" "$status"
  grep -h '^evidence ' "$log" || true
  if [ "$lane_failed" -gt 0 ]; then
    say "--- lane $name FAILED (status $status); the end of $log:"
    grep -n '^counted: FAIL' "$log" || true
    tail -n 150 "$log"
  fi
  say "lane $name: $lane_passed passed, $lane_failed failed"
  awk -v lane="$name" -v s=$((SECONDS - start)) 'BEGIN { printf "evidence ci.minutes.%s %.2f min\n", lane, s / 60 }'
}

main() {
  mkdir -p $logs
  local lanes=("$@") lane start=$SECONDS
  if [ ${#lanes[@]} -eq 0 ]; then lanes=("${all_lanes[@]}"); fi
  for lane in "${lanes[@]}"; do run_lane "$lane"; done
  awk -v s=$((SECONDS - start)) 'BEGIN { printf "evidence ci.minutes.all %.2f min\n", s / 60 }'
  say "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

# --- the lanes ---

lane_install() {
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    say "not root, or no apt-get: taking what is installed"
    return
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update
  apt-get -q install -y --no-install-recommends git cmake g++ clang libomp-dev ninja-build catch2 python3 pkg-config
}

lane_tests() { cmake -DOPTIONS=-DHEDDLE_WARNINGS_AS_ERRORS=ON -P cmake/test.cmake; }

lane_checks() {
  local script
  for script in $(grep -l __main__ cmake/checks/*.py); do check python3 "$script"; done
}
