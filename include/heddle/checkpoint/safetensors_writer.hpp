// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/crc32c.hpp>
#include <heddle/checkpoint/json_writer.hpp>
#include <heddle/checkpoint/safetensors.hpp>

namespace heddle::checkpoint {

/// Whether the header ends in spaces, so that the data begin at a multiple of 8 bytes.
enum class header_padding { to_eight, none };

/// Writes a safetensors file as a stream: declare every tensor, begin, give the data in the order of declaration.
///
/// Sync: one thread. Memory: the header; data go straight to the file. Errors: errc::file; a full disk says so.
/// Determinism: the same declarations and data give the same bytes on any machine.
class safetensors_writer {
 public:
  HEDDLE_FN explicit safetensors_writer(file target, header_padding padding = header_padding::to_eight)
      : target_(std::move(target)), padding_(padding) {}
  safetensors_writer(safetensors_writer const&) = delete;
  safetensors_writer& operator=(safetensors_writer const&) = delete;
  HEDDLE_FN ~safetensors_writer() = default;

  /// Pre: before begin(). Text is UTF-8, keys are unique.
  HEDDLE_FN void meta(std::string key, std::string value) {
    HEDDLE_EXPECTS(!begun_, "metadata comes before begin()");
    metadata_.emplace_back(std::move(key), std::move(value));
  }

  /// Pre: before begin(); the name is UTF-8, not "__metadata__" and not declared before; sizes >= 0.
  HEDDLE_FN void declare(std::string tensor_name, dtype type, index_t const* sizes, std::size_t rank) {
    HEDDLE_EXPECTS(!begun_, "tensors are declared before begin()");
    HEDDLE_EXPECTS(tensor_name != "__metadata__", "this name has its own meaning in the format");
    entry e;
    e.name = std::move(tensor_name);
    e.type = type;
    e.extents.assign(sizes, sizes + rank);
    for (index_t s : e.extents) HEDDLE_EXPECTS(s >= 0, "a tensor has no negative size", e.name.c_str(), s);
    index_t bytes = 0;
    bool const fits = detail::tensor_bytes(e.extents, type, bytes) && !__builtin_add_overflow(end_, bytes, &e.end);
    HEDDLE_EXPECTS(fits, "a file holds whole bytes, fewer than 2^63", e.name.c_str());
    e.begin = end_;
    end_ = e.end;
    entries_.push_back(std::move(e));
  }
  template <index_t... E>
  HEDDLE_FN void declare(std::string tensor_name, dtype type, extents<E...> const& sizes) {
    index_t n[sizeof...(E) + 1] = {};
    for (std::size_t i = 0; i < sizeof...(E); ++i) n[i] = sizes[i];
    declare(std::move(tensor_name), type, n, sizeof...(E));
  }

  /// Writes the header. Errors: errc::unsupported where it would be longer than the format allows.
  HEDDLE_FN void begin() {
    HEDDLE_EXPECTS(!begun_, "begin() is called once");
    check_names();
    begun_ = true;
    std::string text = header_text();
    if (padding_ == header_padding::to_eight) text.append((8 - text.size() % 8) % 8, ' ');
    if (static_cast<index_t>(text.size()) > max_header_bytes)
      throw error(errc::unsupported, make_text(target_.path().c_str(), ": a header of ", text.size(),
                                               " bytes is more than the format allows"));
    unsigned char length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(std::uint64_t{text.size()} >> (8 * i));
    put(length, 8);
    put(text.data(), static_cast<index_t>(text.size()));
  }

  /// Appends elements of the tensors that were declared, in that order; a tensor may come in pieces.
  template <storable T>
  HEDDLE_FN void append(T const* data, index_t n) {
    HEDDLE_EXPECTS(begun_, "begin() comes before the data");
    index_t const bytes = n * static_cast<index_t>(sizeof(T));
    while (next_ < entries_.size() && at_ == entries_[next_].end) ++next_;
    if (bytes == 0) return;
    HEDDLE_EXPECTS(next_ < entries_.size(), "more data than were declared", bytes);
    entry const& e = entries_[next_];
    HEDDLE_EXPECTS(e.type == dtype_of<T>::value, "the data must have the declared type", e.name.c_str(), name(e.type));
    HEDDLE_EXPECTS(bytes <= e.end - at_, "more data than were declared", e.name.c_str(), bytes, e.end - at_);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    std::vector<unsigned char> turned(static_cast<std::size_t>(bytes));
    std::memcpy(turned.data(), data, turned.size());
    detail::from_little_endian(reinterpret_cast<T*>(turned.data()), n);
    put(turned.data(), bytes);
#else
    put(data, bytes);
#endif
    at_ += bytes;
  }

  /// Pre: all declared data were appended. Post: the content is on the disk.
  HEDDLE_FN void finish() {
    HEDDLE_EXPECTS(begun_ && at_ == end_, "all declared data must be written", at_, end_);
    target_.sync();
    target_.close();
  }

  /// Of everything written so far. Units: bytes.
  HEDDLE_FN index_t bytes() const noexcept { return written_; }
  HEDDLE_FN std::uint32_t checksum() const noexcept { return crc_.value(); }

 private:
  HEDDLE_FN void put(void const* data, index_t n) {
    target_.write(data, n);
    crc_.update(data, n);
    written_ += n;
  }

  HEDDLE_FN void check_names() const {
    std::vector<std::string_view> names;
    for (entry const& e : entries_) names.push_back(e.name);
    std::sort(names.begin(), names.end());
    for (std::size_t i = 1; i < names.size(); ++i)
      HEDDLE_EXPECTS(names[i - 1] != names[i], "a name is declared once", std::string(names[i]).c_str());
  }

  HEDDLE_FN std::string header_text() const {
    json_writer w;
    w.begin('{');
    if (!metadata_.empty()) {
      w.key("__metadata__").begin('{');
      for (auto const& pair : metadata_) w.key(pair.first).string(pair.second);
      w.end('}');
    }
    for (entry const& e : entries_) {
      index_t const offsets[2] = {e.begin, e.end};
      w.key(e.name).begin('{').key("dtype").string(name(e.type));
      w.key("shape").numbers(e.extents.data(), e.extents.size()).key("data_offsets").numbers(offsets, 2).end('}');
    }
    return w.end('}').text();
  }

  file target_;
  header_padding padding_;
  std::vector<entry> entries_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  crc32c crc_;
  bool begun_ = false;
  std::size_t next_ = 0;
  index_t end_ = 0;
  index_t at_ = 0;
  index_t written_ = 0;
};

}  // namespace heddle::checkpoint
