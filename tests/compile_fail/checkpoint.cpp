// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/convert.hpp>
#include <heddle/checkpoint/safetensors_writer.hpp>

namespace {

using namespace heddle;
using namespace heddle::checkpoint;

[[maybe_unused]] void right(safetensors_writer& out, float const* data) { out.append(data, 1); }

// expect pointers_in_a_file: storable
#if defined(case_pointers_in_a_file)
void wrong(safetensors_writer& out, float* const* data) { out.append(data, 1); }
#endif

// Numbers that lose their fraction are a decision of the caller.
// expect convert_to_whole_numbers: floating_point
#if defined(case_convert_to_whole_numbers)
void wrong(file const& f, header const& h, entry const& e, any_box const& part, view<int, 1> out) {
  read_box_as(f, h, e, part, out);
}
#endif

}  // namespace
