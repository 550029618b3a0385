// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fuzz.hpp"

#include <heddle/checkpoint/detail/box_index.hpp>
#include <heddle/checkpoint/safetensors.hpp>

#include <sys/mman.h>

using namespace heddle::checkpoint;
using heddle::index_t;
using heddle::test::must;

namespace {
// A file in memory, reused: its content is the input.
std::string const& input_path() {
  static int const descriptor = ::memfd_create("heddle-fuzz", 0);
  static std::string const path = "/proc/self/fd/" + std::to_string(descriptor);
  must(descriptor >= 0, "a file in memory can be made");
  return path;
}

void check_clean(file const& f, header const& h, index_t size) {
  index_t covered = 0;
  for (entry const& e : h.entries) {
    must(e.begin >= 0 && e.begin <= e.end && h.data_start + e.end <= size, "an entry lies inside the file");
    must(e.size() * bits(e.type) == 8 * (e.end - e.begin), "an entry has the bytes of its shape");
    covered += e.end - e.begin;
    for (entry const& other : h.entries) must(&other == &e || other.name != e.name, "names are unique");
    if (e.type != dtype::u8 || e.extents.size() > heddle::max_rank) continue;
    std::vector<std::uint8_t> data(static_cast<std::size_t>(e.size()));
    read_entry(f, h, e, heddle::view<std::uint8_t, 1>(data.data(), heddle::dims<1>(e.size())));
  }
  must(h.data_start + covered == size, "the entries cover the data");
  std::vector<detail::stored_box> boxes;
  report faults;
  detail::read_box_index(h, 0, "f", boxes, faults);
  for (detail::stored_box const& b : boxes)
    must(b.start >= h.data_start && heddle::contains(b.space, b.part), "a box lies inside its tensor");
  detail::check_groups(boxes, faults);
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  {
    file out = file::create(input_path());
    out.write(data, static_cast<index_t>(size));
  }
  file const f = file::open(input_path());
  header h;
  report const r = read_header(f, h);
  for (fault const& x : r.faults())
    must(x.position >= 0 && x.position <= static_cast<index_t>(size), "a fault has a position in the file");
  if (r) check_clean(f, h, static_cast<index_t>(size));
  return 0;
}

#if !defined(HEDDLE_LIBFUZZER)
namespace {
std::string made(std::string const& header, std::string const& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>((header.size() >> (8 * i)) & 255);
  return out + header + data;
}
}  // namespace

int main() {
  std::string const boxes =
      R"([{\"entry\":\"a\",\"name\":\"w\",\"key\":\"\",\"extents\":[4,2],\"lo\":[0,0],\"hi\":[2,2]}])";
  auto tensor = [](std::string const& entry_name, std::string const& type, std::string const& shape, int lo, int hi) {
    return "\"" + entry_name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
           std::to_string(lo) + "," + std::to_string(hi) + "]}";
  };
  std::vector<std::string> const corpus = {
      made("{}", ""),
      made("{" + tensor("a", "U8", "4", 0, 4) + "}", "abcd"),
      made("{" + tensor("a", "F32", "2,0", 0, 0) + "," + tensor("s", "U8", "", 0, 1) + "}   ", "x"),
      made("{" + tensor("a", "U8", "2", 0, 2) + "," + tensor("b", "BF16", "1", 2, 4) + "}", "abcd"),
      made(R"({"__metadata__":{"heddle.boxes":")" + boxes + "\"}," + tensor("a", "U8", "2,2", 0, 4) + "}", "abcd"),
      "",
      std::string(8, '\0')};
  std::vector<std::string> const words = {"\"", "{", "}", "[", "]", ",", "0", "9", "9223372036854775807",
                                          "18446744073709551615", "-1", "\"F4\"", "\"F64\"", "[0,0]", "\"a\":",
                                          std::string(8, '\xff'), std::string(1, '\0')};
  return heddle::test::replay(corpus, words);
}
#endif
