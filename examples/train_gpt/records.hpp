// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>
#include <heddle/report/line_chart.hpp>

#include <string>
#include <vector>

namespace train_gpt {

/// The losses of a run, by step.
struct records {
  std::vector<heddle::report::chart_point> train, valid;
};

/// Reads what metrics.jsonl says of the steps up to `last`, and drops its other lines: those of steps that a killed run
/// made after its last save, which the resumed run makes again, and what is no record. The file is replaced whole.
/// Errors: errc::file. Where there is no file there are no records.
records take_up_records(std::string const& path, heddle::index_t last);

}  // namespace train_gpt
