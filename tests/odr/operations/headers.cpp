// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// With -fkeep-inline-functions, which run.cmake adds where the compiler knows it, every function of these headers that
// is no template is emitted, called or not.
#include <heddle/heddle.hpp>
#include <heddle/report/atomic_file.hpp>
#include <heddle/report/chrome_trace.hpp>
#include <heddle/report/json.hpp>
#include <heddle/report/json_lines.hpp>
#include <heddle/report/line_chart.hpp>
#include <heddle/report/progress.hpp>
#include <heddle/report/schedule_timeline.hpp>
#include <heddle/report/svg.hpp>
#include <heddle/report/timeline.hpp>

int use_headers() { return heddle::usable_cores(); }
