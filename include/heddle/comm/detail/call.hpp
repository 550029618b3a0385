// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/communicator.hpp>

/// @file
/// What one rank says about a collective call, so that ranks can see whether they made the same one.

namespace heddle::detail {

HEDDLE_FN std::uint64_t mix(std::uint64_t h, std::uint64_t x) noexcept {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}
HEDDLE_FN std::uint64_t hash_text(char const* s) noexcept {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (; *s; ++s) h = (h ^ static_cast<unsigned char>(*s)) * 0x100000001B3u;
  return h;
}
HEDDLE_FN std::uint64_t hash_bytes(void const* data, std::size_t size) noexcept {
  unsigned char const* b = static_cast<unsigned char const*>(data);
  std::uint64_t h = 0xCBF29CE484222325u;
  for (std::size_t i = 0; i < size; ++i) h = (h ^ b[i]) * 0x100000001B3u;
  return h;
}

/// The compiler's spelling of a type, the same in all files of one compiler: what follows "T = ".
template <class T>
HEDDLE_FN char const* spelling() noexcept {
  char const* s = __PRETTY_FUNCTION__;
  while (*s && *s != '=') ++s;
  return s;
}

// Short names of element types for messages; other types show as their size.
template <class T>
HEDDLE_FN void name_type(char (&to)[16]) noexcept {
  char const* prefix = "bytes";
  if constexpr (std::is_floating_point_v<T>)
    prefix = "float";
  else if constexpr (std::is_integral_v<T>)
    prefix = std::is_signed_v<T> ? "int" : "uint";
  __builtin_snprintf(to, sizeof to, "%s%d", prefix,
                     static_cast<int>(sizeof(T)) * (std::is_arithmetic_v<T> ? 8 : 1));
}

/// The last word of a type's spelling: "plus" of "= heddle::plus<float>]"; nothing where it has no name.
template <class T>
HEDDLE_FN void name_operation(char (&to)[16]) noexcept {
  char const* s = spelling<T>();
  std::size_t n = 0;
  auto const in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (; *s && (n == 0 || *s == ':' || in_word(*s)); ++s) {
    if (*s == ':') n = 0;
    if (in_word(*s) && n + 1 < sizeof to) to[n++] = *s;
  }
  to[*s == '<' || *s == ']' || *s == ';' || *s == 0 ? n : 0] = 0;  // a lambda's spelling goes on with others
}

/// Everything that must be equal on all ranks. No padding, so that bytes can be compared and sent.
struct call_record {
  std::uint64_t sequence = 0;   ///< position among the collectives of the communicator, from 1; 0 where unknown
  std::int64_t count = 0;       ///< elements, where all ranks must agree
  std::uint64_t counts_hash = 0;  ///< of the whole counts vector, where all ranks must know it
  std::uint64_t op = 0;         ///< operation of a reduction
  std::uint64_t type_hash = 0;
  char type[16] = {};
  char operation[16] = {};      ///< the name of that of a reduction, where it has one
  std::int32_t kind = 0;        ///< traffic
  std::int32_t root = -1;
  std::int64_t leaves = 0;      ///< of an elastic order; 0: the ranks

  HEDDLE_FN call_record() noexcept {}
  HEDDLE_FN bool same_as(call_record const& o) const noexcept {
    return __builtin_memcmp(this, &o, sizeof *this) == 0;
  }
  HEDDLE_FN text describe() const noexcept {
    text t = make_text(name(static_cast<traffic>(kind)));
    if (type[0]) t.append(" of ").append(count).append(' ').append(static_cast<char const*>(type));
    if (operation[0])
      t.append(", operation ").append(static_cast<char const*>(operation));
    else if (op)
      t.append(", operation number ").append(op % 10000).append(" (without a name)");
    if (counts_hash) t.append(", counts ").append(counts_hash % 10000);
    if (root >= 0) t.append(", root ").append(root);
    if (leaves) t.append(", elastic over ").append(leaves).append(" leaves");
    if (sequence) t.append(", sequence ").append(sequence);
    return t;
  }
};
static_assert(sizeof(call_record) == 88);

template <class T>
HEDDLE_FN call_record make_call(traffic kind, index_t count, int root = -1) noexcept {
  call_record c;
  c.kind = static_cast<int>(kind);
  c.count = count;
  c.root = root;
  c.type_hash = hash_text(spelling<T>());
  name_type<T>(c.type);
  return c;
}

/// The type of an operation and, where it has a state without padding, its bytes.
template <class Op>
HEDDLE_FN std::uint64_t hash_operation(Op const& op) noexcept {
  std::uint64_t h = hash_text(spelling<Op>());
  if constexpr (!std::is_empty_v<Op> && std::has_unique_object_representations_v<Op>)
    h = mix(h, hash_bytes(&op, sizeof op));
  return h | 1;
}

template <class Op>
HEDDLE_FN void set_operation(call_record& call, Op const& op) noexcept {
  call.op = hash_operation(op);
  __builtin_memset(call.operation, 0, sizeof call.operation);
  name_operation<Op>(call.operation);
}

/// An argument that breaks the contract: kept until the peers have been told. Null where all is well.
struct argument_fault {
  char const* what = nullptr;
  index_t a = 0, b = 0;
  HEDDLE_FN argument_fault() noexcept {}
  HEDDLE_FN argument_fault(char const* text, index_t x, index_t y) noexcept : what(text), a(x), b(y) {}
  HEDDLE_FN explicit operator bool() const noexcept { return what != nullptr; }
};

[[noreturn]] HEDDLE_FN void throw_fault(argument_fault const& fault, call_record const& call) {
  contract_failed(name(static_cast<traffic>(call.kind)), 0, call.describe().c_str(), fault.what, fault.a, fault.b);
}

/// What a rank shows to its peers: the call, and where its data lies.
struct posting {
  call_record call;
  void const* in = nullptr;
  void* out = nullptr;
  std::size_t in_bytes = 0, out_bytes = 0;
  index_t const* counts = nullptr;       ///< of v-forms: what this rank sends, or the common counts
  index_t const* receive_counts = nullptr;
  index_t in_stride = 0;                 ///< bytes between the pieces of an elastic input
  argument_fault fault;

  HEDDLE_FN posting() noexcept {}
};

}  // namespace heddle::detail
