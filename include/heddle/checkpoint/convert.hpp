// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/safetensors.hpp>

/// @file
/// Reads entries of one float type into elements of another.

namespace heddle::checkpoint {

namespace detail {
template <class T>
HEDDLE_FN constexpr bool readable_as(dtype stored) noexcept {
  bool const is_float = stored == dtype::f32 || stored == dtype::f64 || stored == dtype::f16 || stored == dtype::bf16 ||
                        stored == dtype::f8_e4m3 || stored == dtype::f8_e5m2;
  return stored == dtype_of<T>::value || (std::is_floating_point_v<T> && is_float);
}

/// The same run by run through a small buffer; exact where T is wider, rounded once where it is not.
template <class Stored, class T>
HEDDLE_FN void read_part_converted(file const& f, index_t start, any_box const& stored, any_box const& part,
                                   any_box const& to, T* out) {
  constexpr index_t room = 4096;
  Stored buffer[room];
  index_t const item = static_cast<index_t>(sizeof(Stored));
  for_each_run(part, stored, to, [&](index_t from, index_t at, index_t n) {
    for (index_t done = 0; done < n;) {
      index_t const count = n - done < room ? n - done : room;
      f.read_at(start + (from + done) * item, buffer, count * item);
      from_little_endian(buffer, count);
      for (index_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<Stored, double>)
          out[at + done + i] = static_cast<T>(buffer[i]);
        else
          out[at + done + i] = static_cast<T>(static_cast<float>(buffer[i]));
      }
      done += count;
    }
  });
}

/// Pre: readable_as<T>(type).
template <class T>
HEDDLE_FN void read_part_as(file const& f, dtype type, index_t start, any_box const& stored, any_box const& part,
                            any_box const& to, T* out) {
  if (type == dtype_of<T>::value) return read_part(f, start, stored, part, to, out);
  if constexpr (std::is_floating_point_v<T>) {
    switch (type) {
      case dtype::f64: return read_part_converted<double>(f, start, stored, part, to, out);
      case dtype::f32: return read_part_converted<float>(f, start, stored, part, to, out);
      case dtype::f16: return read_part_converted<fp16>(f, start, stored, part, to, out);
      case dtype::bf16: return read_part_converted<bf16>(f, start, stored, part, to, out);
      case dtype::f8_e4m3: return read_part_converted<fp8_e4m3>(f, start, stored, part, to, out);
      case dtype::f8_e5m2: return read_part_converted<fp8_e5m2>(f, start, stored, part, to, out);
      default: break;
    }
  }
  HEDDLE_EXPECTS(readable_as<T>(type), "this type can't be read as the view's", name(type));
}
}  // namespace detail

/// Reads a box of an entry of any float type into float or double elements, and exactly its bytes.
///
/// Numerics: exact where the view's type is wider, F64 to float rounded once. Otherwise as read_box().
template <writable_view V>
  requires std::floating_point<typename V::value_type>
HEDDLE_FN void read_box_as(file const& f, header const& h, entry const& e, any_box const& part, V const& out) {
  HEDDLE_EXPECTS(detail::readable_as<typename V::value_type>(e.type), "the entry holds floats", name(e.type));
  HEDDLE_EXPECTS(out.size() == part.size() && out.is_contiguous(), "the view must hold the box without gaps",
                 out.size(), part.size());
  detail::read_part_as(f, e.type, h.data_start + e.begin, e.space(), part, part, out.data());
}

}  // namespace heddle::checkpoint
