# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The lanes of .ci/run and their bookkeeping. A lane is a function lane_<name>; its output goes to build/ci/<name>.log
# and, where it fails, to the screen. Every ctest entry and every command started with `check` counts as one.

all_lanes=(install tests checks headers bits clang asan tsan fuzz nvcc evidence)
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

# Adds up what the log of a lane counted: check lines and ctest summaries, without tests that were skipped. A lane that
# failed counts at least once.
count_lane() {
  local log=$1 status=$2
  read -r lane_passed lane_failed < <(awk '
    /^counted: pass: / { ok++ }
    /^counted: FAIL: / { bad++ }
    /^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+/ { bad += $4; ok += $NF - $4 }
    /^\t *[0-9]+ - .* \(Skipped\)/ { ok-- }
    END { print ok + 0, bad + 0 }' "$log")
  if [ "$status" -ne 0 ] && [ "$lane_failed" -eq 0 ]; then lane_failed=1; fi
  passed=$((passed + lane_passed))
  failed=$((failed + lane_failed))
}

minutes() { awk -v s="$2" -v id="$1" 'BEGIN { printf "evidence ci.minutes.%s %.2f min\n", id, s / 60 }'; }

# Each lane that passed has its minutes in a file of its own, so a run of some lanes leaves those of the others. Puts
# them together, and their sum once there are all.
collect_minutes() {
  local lane files=()
  for lane in "${all_lanes[@]}"; do
    if [ -s "$logs/$lane.minutes" ]; then files+=("$logs/$lane.minutes"); fi
  done
  cat /dev/null "${files[@]}" >$logs/evidence.txt
  if [ ${#files[@]} -eq ${#all_lanes[@]} ]; then
    awk '{ sum += $3 } END { printf "evidence ci.minutes.all %.2f min\n", sum }' "${files[@]}" |
      tee -a $logs/evidence.txt
  fi
}

run_lane() {
  local name=$1 start=$SECONDS status=0 log=$logs/$1.log
  rm -f "$logs/$name.minutes"
  export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
  if command -v ninja >/dev/null; then export CMAKE_GENERATOR=Ninja; fi
  (set -euo pipefail; lane_"$name") >"$log" 2>&1 &
  wait $! || status=$?
  count_lane "$log" "$status"
  grep -h '^evidence ' "$log" || true
  grep -h 'not on this machine' "$log" | sort -u || true
  sed -n 's/^\t *[0-9]* - \(.*\) (Skipped)/skipped: \1/p' "$log"
  if [ "$lane_failed" -gt 0 ]; then
    say "--- lane $name FAILED (status $status); the failed checks and the end of $log:"
    grep -n '^counted: FAIL' "$log" || true
    tail -n 200 "$log"
  fi
  say "lane $name: $lane_passed passed, $lane_failed failed"
  minutes "$name" $((SECONDS - start))
  if [ "$lane_failed" -eq 0 ]; then minutes "$name" $((SECONDS - start)) >"$logs/$name.minutes"; fi
}

main() {
  mkdir -p $logs
  local lanes=("$@") lane start=$SECONDS
  if [ ${#lanes[@]} -eq 0 ]; then lanes=("${all_lanes[@]}"); fi
  for lane in "${lanes[@]}"; do
    run_lane "$lane"
  done
  collect_minutes
  say "took $(((SECONDS - start) / 60)) minutes"
  say "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

# --- the lanes ---

# What every lane needs must be had; the second list is taken where the package archive has it.
lane_install() {
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    say "not root, or no apt-get: taking what is installed"
    return
  fi
  export DEBIAN_FRONTEND=noninteractive
  local package
  apt-get -q update
  apt-get -q install -y --no-install-recommends git cmake g++ clang libomp-dev ninja-build catch2 python3 pkg-config
  for package in libclang-rt-14-dev clang-19 g++-aarch64-linux-gnu qemu-user; do
    apt-get -q install -y --no-install-recommends "$package" || say "$package is not on this machine"
  done
  if [ "${CI:-}" = true ] && ! python3 -c 'import safetensors, numpy' 2>/dev/null; then
    python3 -m pip install -q safetensors numpy ||
      python3 -m pip install -q --break-system-packages safetensors numpy ||
      say "Python's safetensors is not on this machine"
  fi
}

# The README's second command, with g++.
lane_tests() { cmake -DOPTIONS=-DHEDDLE_WARNINGS_AS_ERRORS=ON -P cmake/test.cmake; }

lane_checks() {
  local script
  for script in layering text sizes docstrings umbrella mirror docs benchmarks budget; do
    check python3 cmake/checks/$script.py
  done
}

# Every header alone, with the oldest and the newest compilers and for another processor.
lane_headers() { check python3 cmake/checks/self_contained.py clang++-19 aarch64-linux-gnu-g++; }

# The same bits from every compiler, optimisation level and instruction set.
lane_bits() { check python3 cmake/checks/bits.py; }

# What the sanitizer lane, which is built by clang too, leaves out.
lane_clang() {
  cmake -DCXX=clang++ -DBUILD_DIR=build/clang -DOPTIONS=-DHEDDLE_WARNINGS_AS_ERRORS=ON \
    "-DFOLDERS=odr;compile_fail;examples" -P cmake/test.cmake
}

lane_asan() { cmake --workflow --preset asan-ubsan; }

lane_tsan() { cmake --workflow --preset tsan; }

# Five seconds of libFuzzer for each parser, one parser per core. Each writes what it says into a file, so that lines of
# two don't mix.
lane_fuzz() {
  local status=0
  mkdir -p build/fuzz
  rm -f build/fuzz/*.txt
  export -f fuzz_one check say
  printf '%s\n' tests/fuzz/*.cpp | xargs -P "${JOBS:-$(nproc)}" -I '{}' bash -c 'fuzz_one {}' || status=$?
  cat build/fuzz/*.txt
  return $status
}

fuzz_one() {
  local name
  name=$(basename "$1" .cpp)
  {
    clang++ -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
      -DHEDDLE_LIBFUZZER -pthread \
      -I include -I tests "$1" -o "build/fuzz/$name" &&
      check timeout 120 "build/fuzz/$name" -max_total_time=5 -max_len=4096 -artifact_prefix=build/fuzz/
  } >"build/fuzz/$name.txt" 2>&1
}

# The device sources compile; nothing of them runs here.
lane_nvcc() { check python3 cmake/checks/nvcc.py; }

# Bits, bytes and counts that the project claims.
lane_evidence() { check cmake -DONLY=exact -P cmake/evidence.cmake; }
