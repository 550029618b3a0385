// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/dtype.hpp>
#include <heddle/checkpoint/file.hpp>
#include <heddle/checkpoint/json.hpp>
#include <heddle/core/tensor_view.hpp>
#include <heddle/mesh/runs.hpp>

#include <utility>

/// @file
/// Reads the safetensors format: an 8-byte little-endian length, a JSON header of that length, the data.

namespace heddle::checkpoint {

/// The longest header that is read or written. Units: bytes.
inline constexpr index_t max_header_bytes = 100'000'000;

/// One tensor of a file. Units: bytes for begin and end, which count from the start of the data.
struct entry {
  std::string name;
  dtype type = dtype::f32;
  std::vector<index_t> extents;
  index_t begin = 0;
  index_t end = 0;
  index_t position = 0;  ///< of the entry in the file

  HEDDLE_FN entry() = default;
  HEDDLE_FN entry(entry const&) = default;
  HEDDLE_FN entry(entry&&) noexcept = default;
  HEDDLE_FN entry& operator=(entry const&) = default;
  HEDDLE_FN entry& operator=(entry&&) noexcept = default;
  HEDDLE_FN ~entry() = default;

  /// Elements. Pre: the header was clean.
  HEDDLE_FN index_t size() const noexcept {
    return static_cast<index_t>(8 * static_cast<std::uint64_t>(end - begin) / static_cast<std::uint64_t>(bits(type)));
  }
  /// All of the tensor. Pre: at most 8 dimensions.
  HEDDLE_FN any_box space() const { return whole(extents.data(), extents.size()); }
};

/// What a file says it holds. Entries come in the order of the header.
struct header {
  index_t data_start = 0;  ///< byte where the data begin
  std::vector<entry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;

  HEDDLE_FN header() = default;
  HEDDLE_FN header(header const&) = default;
  HEDDLE_FN header(header&&) noexcept = default;
  HEDDLE_FN header& operator=(header const&) = default;
  HEDDLE_FN header& operator=(header&&) noexcept = default;
  HEDDLE_FN ~header() = default;

  /// The entry of that name, or null. Complexity: linear.
  HEDDLE_FN entry const* find(std::string_view name) const noexcept {
    for (entry const& e : entries)
      if (e.name == name) return &e;
    return nullptr;
  }
  /// The metadata text of that key, or null.
  HEDDLE_FN std::string const* meta(std::string_view key) const noexcept {
    for (auto const& pair : metadata)
      if (pair.first == key) return &pair.second;
    return nullptr;
  }
};

namespace detail {

/// The bytes of a tensor; false where they are no whole number or exceed 63 bits.
HEDDLE_FN bool tensor_bytes(std::vector<index_t> const& extents, dtype type, index_t& out) noexcept {
  index_t n = 1;
  for (index_t e : extents)
    if (e == 0) {
      out = 0;
      return true;
    }
  for (index_t e : extents)
    if (__builtin_mul_overflow(n, e, &n)) return false;
  if (__builtin_mul_overflow(n, index_t{bits(type)}, &n)) return false;
  out = n / 8;
  return n % 8 == 0;
}

/// Checks what the JSON header claims against the bytes that the file has.
class header_reader {
 public:
  HEDDLE_FN header_reader(header& out, report& faults, index_t data_bytes)
      : out_(out), faults_(faults), data_bytes_(data_bytes) {}
  header_reader(header_reader const&) = delete;
  header_reader& operator=(header_reader const&) = delete;
  HEDDLE_FN ~header_reader() = default;

  HEDDLE_FN void read(json const& root) {
    if (!root.is(json_kind::object)) return faults_.add("", 8, "the header is no JSON object");
    for (std::size_t i = 0; i < root.keys.size(); ++i) {
      json const& item = root.items[i];
      if (root.keys[i] == "__metadata__")
        metadata(item);
      else
        tensor(root.keys[i], item);
    }
    coverage();
  }

 private:
  HEDDLE_FN void add(std::string const& name, json const& at, std::string what) {
    faults_.add(name, at.position + 8, std::move(what));
  }

  HEDDLE_FN void metadata(json const& item) {
    if (!item.is(json_kind::object)) return add("__metadata__", item, "is no JSON object");
    for (std::size_t i = 0; i < item.keys.size(); ++i) {
      if (!item.items[i].is(json_kind::string)) {
        add("__metadata__", item.items[i], "holds something else than text under \"" + item.keys[i] + "\"");
        continue;
      }
      out_.metadata.emplace_back(item.keys[i], item.items[i].text);
    }
  }

  HEDDLE_FN bool numbers(std::string const& name, json const& list, char const* what, std::vector<index_t>& out) {
    if (!list.is(json_kind::array)) {
      add(name, list, std::string("has a ") + what + " that is no list");
      return false;
    }
    for (json const& item : list.items) {
      index_t n = 0;
      if (!item.as_index(n)) {
        add(name, item, std::string("has a ") + what + " with something else than whole numbers below 2^63");
        return false;
      }
      out.push_back(n);
    }
    return true;
  }

  HEDDLE_FN void tensor(std::string const& name, json const& item) {
    if (!item.is(json_kind::object)) return add(name, item, "is no JSON object");
    json const *type = item.find("dtype"), *shape = item.find("shape"), *offsets = item.find("data_offsets");
    if (type == nullptr || shape == nullptr || offsets == nullptr)
      return add(name, item, "lacks dtype, shape or data_offsets");
    for (std::string const& key : item.keys)
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        add(name, item, "has an unknown member \"" + key + "\"");
    if (item.keys.size() > 3) add(name, item, "has more members than dtype, shape and data_offsets");
    entry e;
    e.name = name;
    e.position = item.position + 8;
    if (!type->is(json_kind::string) || !find_dtype(type->text, e.type))
      return add(name, *type, "has an unknown dtype \"" + type->text + "\"");
    std::vector<index_t> range;
    if (!numbers(name, *shape, "shape", e.extents) || !numbers(name, *offsets, "data_offsets", range)) return;
    if (range.size() != 2 || range[0] > range[1]) return add(name, *offsets, "needs data_offsets [begin, end]");
    e.begin = range[0];
    e.end = range[1];
    index_t bytes = 0;
    if (!tensor_bytes(e.extents, e.type, bytes))
      return add(name, *shape, "has a size that is no whole number of bytes below 2^63");
    if (e.end > data_bytes_)
      add(name, *offsets, "ends at data byte " + std::to_string(e.end) + " of " + std::to_string(data_bytes_));
    else if (bytes != e.end - e.begin)
      add(name, *offsets, "takes " + std::to_string(e.end - e.begin) + " bytes where shape and dtype need " +
                              std::to_string(bytes));
    out_.entries.push_back(std::move(e));
  }

  // Entries in the order of their bytes must meet exactly; an empty one may lie between two or at an end.
  HEDDLE_FN void coverage() {
    std::vector<entry const*> order;
    for (entry const& e : out_.entries) order.push_back(&e);
    std::sort(order.begin(), order.end(), [](entry const* a, entry const* b) {
      return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
    });
    index_t covered = 0;
    entry const* last = nullptr;
    for (entry const* e : order) {
      if (e->begin < covered)
        faults_.add(e->name, e->position, "overlaps \"" + last->name + "\"");
      else if (e->begin > covered)
        faults_.add(e->name, e->position,
                    "leaves a hole of " + std::to_string(e->begin - covered) + " bytes before it");
      if (e->end > covered) {
        covered = e->end;
        last = e;
      }
    }
    if (covered < data_bytes_)
      faults_.add("", out_.data_start + covered,
                  "the last " + std::to_string(data_bytes_ - covered) + " bytes belong to no tensor");
  }

  header& out_;
  report& faults_;
  index_t data_bytes_;
};

/// Checks a header that is in memory; `data_bytes` is what the file holds behind it.
HEDDLE_FN report read_header_text(std::string_view text, index_t data_bytes, header& out) {
  out = header();
  out.data_start = static_cast<index_t>(text.size()) + 8;
  if (text.empty() || text[0] != '{') {
    report r;
    r.add("", 8, "the header does not begin with '{'");
    return r;
  }
  json root;
  report syntax, faults;
  bool const complete = parse_json(text, root, syntax, {.bytes = max_header_bytes});
  for (fault const& f : syntax.faults()) faults.add(f.entry, f.position + 8, f.what);  // positions in the file
  if (complete) header_reader(out, faults, data_bytes).read(root);
  return faults;
}
}  // namespace detail

/// Reads and checks the header of an open file: every violation is reported with its entry and position.
///
/// Post: if the report is clean, every entry lies inside the file, the entries cover the data exactly, names are
/// unique. Errors: errc::file where the file can't be read. Memory: nothing is allocated for a claimed size before
/// the size is checked against the file's.
HEDDLE_FN report read_header(file const& f, header& out) {
  report faults;
  out = header();
  index_t const bytes = f.size();
  auto refuse = [&](index_t at, std::string what) {
    faults.add("", at, std::move(what));
    return faults;
  };
  if (bytes < 8) return refuse(0, "is cut off: " + std::to_string(bytes) + " bytes can't hold the header's length");
  unsigned char raw[8];
  f.read_at(0, raw, 8);
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | raw[i];
  std::string const said = "the header is said to take " + std::to_string(length) + " bytes";
  if (length == 0) return refuse(0, said);
  if (length > static_cast<std::uint64_t>(bytes - 8))
    return refuse(0, said + ", " + std::to_string(bytes - 8) + " follow");
  if (length > static_cast<std::uint64_t>(max_header_bytes)) return refuse(0, said + ", more than is accepted");
  std::string text(static_cast<std::size_t>(length), '\0');
  f.read_at(8, text.data(), static_cast<index_t>(length));
  return detail::read_header_text(text, bytes - 8 - static_cast<index_t>(length), out);
}

/// Reads a header or throws error(errc::format) that names the file and the first faults.
HEDDLE_FN header require_header(file const& f) {
  header h;
  require(read_header(f, h), f.path());
  return h;
}

namespace detail {
template <class T>
HEDDLE_FN void from_little_endian(T* data, index_t n) noexcept {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (index_t i = 0; i < n; ++i) {
    auto* byte = reinterpret_cast<unsigned char*>(data + i);
    for (std::size_t a = 0, b = sizeof(T) - 1; a < b; ++a, --b) std::swap(byte[a], byte[b]);
  }
#else
  static_cast<void>(data);
  static_cast<void>(n);
#endif
}

/// Reads exactly the bytes of `part` of a stored box, which begins at byte `start` of the file, into a row-major box.
template <class T>
HEDDLE_FN void read_part(file const& f, index_t start, any_box const& stored, any_box const& part, any_box const& to,
                         T* out) {
  index_t const item = static_cast<index_t>(sizeof(T));
  for_each_run(part, stored, to, [&](index_t from, index_t at, index_t n) {
    f.read_at(start + from * item, out + at, n * item);
    from_little_endian(out + at, n);
  });
}
}  // namespace detail

/// Reads a box of an entry, and exactly its bytes.
///
/// Shapes: out has box.size() elements without gaps, which are the box in row-major order. Types: out's element is
/// the entry's dtype. Pre: `e` comes from a clean header of this file, has at most 8 dimensions, and contains the box.
/// Errors: errc::file. Complexity: one read per run that is contiguous in the entry.
template <writable_view V>
  requires storable<typename V::value_type>
HEDDLE_FN void read_box(file const& f, header const& h, entry const& e, any_box const& part, V const& out) {
  using element = typename V::value_type;
  HEDDLE_EXPECTS(e.type == dtype_of<element>::value, "the view must have the entry's type", name(e.type),
                 name(dtype_of<element>::value));
  HEDDLE_EXPECTS(out.size() == part.size() && out.is_contiguous(), "the view must hold the box without gaps",
                 out.size(), part.size());
  detail::read_part(f, h.data_start + e.begin, e.space(), part, part, out.data());
}

/// Reads a whole entry. The same conditions.
template <writable_view V>
  requires storable<typename V::value_type>
HEDDLE_FN void read_entry(file const& f, header const& h, entry const& e, V const& out) {
  read_box(f, h, e, e.space(), out);
}

}  // namespace heddle::checkpoint
