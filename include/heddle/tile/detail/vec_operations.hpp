// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The operations of vec: part of tile/vec.hpp, never included alone.

#include <heddle/tile/vec.hpp>

namespace heddle {
namespace detail {

#if defined(__CUDA_ARCH__)
#define HEDDLE_VEC_REG(...)
#else
#define HEDDLE_VEC_REG(...) __VA_ARGS__
#endif

// Integers are added and multiplied as unsigned ones, which wrap.
template <class T>
struct wrapping_of {
  using type = T;
};
template <std::signed_integral T>
struct wrapping_of<T> {
  using type = std::make_unsigned_t<T>;
};
template <class T>
using wrapping = typename wrapping_of<T>::type;

// An operation is written twice: for one lane (device code) and for one register (host code).
#define HEDDLE_VEC_BINARY(name, symbol)                                                                      \
  struct name {                                                                                              \
    template <class T>                                                                                       \
    static HEDDLE_TILE T one(T a, T b) {                                                                     \
      using U = wrapping<T>;                                                                                 \
      return static_cast<T>(static_cast<U>(a) symbol static_cast<U>(b));                                     \
    }                                                                                                        \
    HEDDLE_VEC_REG(template <int R, class T> static HEDDLE_SHIM void reg(T* o, T const* a, T const* b) {     \
      using U = registers::raw<wrapping<T>, R>;                                                              \
      registers::reg<R>(o) = (registers::raw<T, R>)((U)registers::reg<R>(a) symbol(U) registers::reg<R>(b)); \
    })                                                                                                       \
  }
HEDDLE_VEC_BINARY(add_op, +);
HEDDLE_VEC_BINARY(sub_op, -);
HEDDLE_VEC_BINARY(and_op, &);
HEDDLE_VEC_BINARY(or_op, |);
HEDDLE_VEC_BINARY(xor_op, ^);
#undef HEDDLE_VEC_BINARY

#define HEDDLE_VEC_COMPARE(name, expression)                                                                         \
  struct name {                                                                                                      \
    template <class T>                                                                                               \
    static HEDDLE_TILE int_bits_t<T> one(T a, T b) {                                                                 \
      return a expression b ? int_bits_t<T>(-1) : int_bits_t<T>(0);                                                  \
    }                                                                                                                \
    HEDDLE_VEC_REG(template <int R, class T> static HEDDLE_SHIM void reg(int_bits_t<T>* o, T const* a, T const* b) { \
      registers::reg<R>(o) = registers::reg<R>(a) expression registers::reg<R>(b);                                   \
    })                                                                                                               \
  }
HEDDLE_VEC_COMPARE(lt_op, <);
HEDDLE_VEC_COMPARE(le_op, <=);
HEDDLE_VEC_COMPARE(eq_op, ==);
HEDDLE_VEC_COMPARE(ne_op, !=);
#undef HEDDLE_VEC_COMPARE

struct div_op {
  template <class T>
  static HEDDLE_TILE T one(T a, T b) {
    return static_cast<T>(a / b);
  }
  HEDDLE_VEC_REG(template <int R, class T> static HEDDLE_SHIM void reg(T* o, T const* a, T const* b) {
    registers::reg<R>(o) = registers::reg<R>(a) / registers::reg<R>(b);
  })
};
struct mul_op {
  template <class T>
  static HEDDLE_TILE T one(T a, T b) {
    return heddle::mul(a, b);
  }
  HEDDLE_VEC_REG(template <int R, class T> static HEDDLE_SHIM void reg(T* o, T const* a, T const* b) {
    if constexpr (std::is_floating_point_v<T>)
      registers::mul<R>(o, a, b);
    else
      registers::reg<R>(o) = (registers::raw<T, R>)((registers::raw<wrapping<T>, R>)registers::reg<R>(a) *
                                                    (registers::raw<wrapping<T>, R>)registers::reg<R>(b));
  })
};
struct fma_op {
  template <class T>
  static HEDDLE_TILE T one(T a, T b, T c) {
    return heddle::fma(a, b, c);
  }
  HEDDLE_VEC_REG(template <int R, class T> static HEDDLE_SHIM void reg(T* o, T const* a, T const* b, T const* c) {
    if constexpr (std::is_floating_point_v<T>)
      registers::fma<R>(o, a, b, c);
    else
      registers::reg<R>(o) = (registers::raw<T, R>)((registers::raw<wrapping<T>, R>)registers::reg<R>(a) *
                                                        (registers::raw<wrapping<T>, R>)registers::reg<R>(b) +
                                                    (registers::raw<wrapping<T>, R>)registers::reg<R>(c));
  })
};
struct select_op {
  template <class M, class T>
  static HEDDLE_TILE T one(M m, T a, T b) {
    return m ? a : b;
  }
  HEDDLE_VEC_REG(template <int R, class M, class T>
                 static HEDDLE_SHIM void reg(T* o, M const* m, T const* a, T const* b) {
                   registers::reg<R>(o) = registers::reg<R>(m) ? registers::reg<R>(a) : registers::reg<R>(b);
                 })
};
struct sqrt_op {
  template <class T>
  static HEDDLE_TILE T one(T a) {
    return heddle::sqrt(a);
  }
  HEDDLE_VEC_REG(template <int R, class T> static HEDDLE_SHIM void reg(T* o, T const* a) { registers::sqrt<R>(o, a); })
};
template <class To>
struct bit_cast_op {
  template <class T>
  static HEDDLE_TILE To one(T a) {
    return heddle::bit_cast<To>(a);
  }
  HEDDLE_VEC_REG(template <int R, class T> static HEDDLE_SHIM void reg(To* o, T const* a) {
    registers::reg<R>(o) = (registers::raw<To, R>)registers::reg<R>(a);
  })
};
template <class To>
struct convert_op {
  template <class T>
  static HEDDLE_TILE To one(T a) {
    return static_cast<To>(a);
  }
  HEDDLE_VEC_REG(template <int R, class T>
                 static HEDDLE_SHIM void reg(To* o, T const* a) { registers::convert<R>(o, a); })
};
template <int Count, bool Left>
struct shift_op {
  template <class T>
  static HEDDLE_TILE T one(T a) {
    return static_cast<T>(Left ? a << Count : a >> Count);
  }
  HEDDLE_VEC_REG(template <int R, class T> static HEDDLE_SHIM void reg(T* o, T const* a) {
    if constexpr (Left)
      registers::reg<R>(o) = registers::reg<R>(a) << Count;
    else
      registers::reg<R>(o) = registers::reg<R>(a) >> Count;
  })
};
#undef HEDDLE_VEC_REG

template <int R, int I, class T>
HEDDLE_TILE void splat_register(T* o, T x) {
#if defined(__CUDA_ARCH__)
  for (int i = I * R; i < I * R + R; ++i) o[i] = x;
#else
  registers::splat<R>(o + I * R, x);
#endif
}
template <int R, int I, class T>
HEDDLE_TILE void load_register(T* o, T const* p) {
#if defined(__CUDA_ARCH__)
  for (int i = I * R; i < I * R + R; ++i) o[i] = p[i];
#else
  registers::load<R>(o + I * R, p + I * R);
#endif
}
template <int R, int I, class T>
HEDDLE_TILE void store_register(T* p, T const* o) {
#if defined(__CUDA_ARCH__)
  for (int i = I * R; i < I * R + R; ++i) p[i] = o[i];
#else
  registers::store<R>(p + I * R, o + I * R);
#endif
}
template <int R, int I, class T>
HEDDLE_TILE void load_register_part(T* o, T const* p, std::ptrdiff_t n) {
#if defined(__CUDA_ARCH__)
  for (int i = I * R; i < I * R + R; ++i) o[i] = i < n ? p[i] : T{};
#else
  registers::load_part<R>(o + I * R, p + I * R, n - I * R);
#endif
}
template <int R, int I, class T>
HEDDLE_TILE void store_register_part(T* p, T const* o, std::ptrdiff_t n) {
#if defined(__CUDA_ARCH__)
  for (int i = I * R; i < I * R + R; ++i)
    if (i < n) p[i] = o[i];
#else
  registers::store_part<R>(p + I * R, o + I * R, n - I * R);
#endif
}
HEDDLE_DEVICE_PASS_QUIET
template <int R, int... I, class T>
HEDDLE_TILE void load_registers_part(std::integer_sequence<int, I...>, T* o, T const* p, std::ptrdiff_t n) {
  (load_register_part<R, I>(o, p, n), ...);
}
HEDDLE_DEVICE_PASS_QUIET
template <int R, int... I, class T>
HEDDLE_TILE void store_registers_part(std::integer_sequence<int, I...>, T* p, T const* o, std::ptrdiff_t n) {
  (store_register_part<R, I>(p, o, n), ...);
}
HEDDLE_DEVICE_PASS_QUIET
template <int R, int... I, class T>
HEDDLE_TILE void splat_registers(std::integer_sequence<int, I...>, T* o, T x) {
  (splat_register<R, I>(o, x), ...);
}
HEDDLE_DEVICE_PASS_QUIET
template <int R, int... I, class T>
HEDDLE_TILE void load_registers(std::integer_sequence<int, I...>, T* o, T const* p) {
  (load_register<R, I>(o, p), ...);
}
HEDDLE_DEVICE_PASS_QUIET
template <int R, int... I, class T>
HEDDLE_TILE void store_registers(std::integer_sequence<int, I...>, T* p, T const* o) {
  (store_register<R, I>(p, o), ...);
}
}  // namespace detail

template <class T, int W, int R>
HEDDLE_TILE vec<T, W, R> vec<T, W, R>::splat(T x) {
  vec r;
  detail::splat_registers<R>(detail::registers_of<W, R>{}, r.lane, x);
  return r;
}
template <class T, int W, int R>
HEDDLE_TILE vec<T, W, R> vec<T, W, R>::iota() {
  vec r;
  for (int i = 0; i < W; ++i) r.lane[i] = static_cast<T>(i);
  return r;
}
template <class T, int W, int R>
HEDDLE_TILE vec<T, W, R> vec<T, W, R>::load(T const* p) {
  vec r;
  detail::load_registers<R>(detail::registers_of<W, R>{}, r.lane, p);
  return r;
}
template <class T, int W, int R>
HEDDLE_TILE vec<T, W, R> vec<T, W, R>::load(T const* p, std::ptrdiff_t n) {
  if (HEDDLE_LIKELY(n >= W)) return load(p);
  vec r;
  detail::load_registers_part<R>(detail::registers_of<W, R>{}, r.lane, p, n);
  return r;
}
template <class T, int W, int R>
HEDDLE_TILE vec<T, W, R> vec<T, W, R>::load(T const* p, std::ptrdiff_t n, T fill) {
  if (n >= W) return load(p);
  using count = int_bits_t<T>;
  using counts = mask_t<vec>;
  count const have = static_cast<count>(n < 0 ? 0 : n);
  return select(counts::iota() < counts::splat(have), load(p, n), splat(fill));
}
template <class T, int W, int R>
HEDDLE_TILE void vec<T, W, R>::store(T* p) const {
  detail::store_registers<R>(detail::registers_of<W, R>{}, p, lane);
}
template <class T, int W, int R>
HEDDLE_TILE void vec<T, W, R>::store(T* p, std::ptrdiff_t n) const {
  if (HEDDLE_LIKELY(n >= W)) return store(p);
  detail::store_registers_part<R>(detail::registers_of<W, R>{}, p, lane, n);
}

// Operands are vectors of one type, or vectors and numbers of its lanes.
#define HEDDLE_VEC_OPERATOR(symbol, op)                                                          \
  template <class A, class B>                                                                    \
  requires detail::vec_operands<A, B> HEDDLE_TILE auto operator symbol(A const& a, B const& b) { \
    using V = detail::vec_of<A, B>;                                                              \
    return detail::apply<detail::op, V>(detail::as_vec<V>(a), detail::as_vec<V>(b));             \
  }
HEDDLE_VEC_OPERATOR(+, add_op)
HEDDLE_VEC_OPERATOR(-, sub_op)
HEDDLE_VEC_OPERATOR(*, mul_op)
HEDDLE_VEC_OPERATOR(/, div_op)
HEDDLE_VEC_OPERATOR(&, and_op)
HEDDLE_VEC_OPERATOR(|, or_op)
HEDDLE_VEC_OPERATOR(^, xor_op)
#undef HEDDLE_VEC_OPERATOR

#define HEDDLE_VEC_COMPARISON(symbol, op, first, second)                                              \
  template <class A, class B>                                                                         \
  requires detail::vec_operands<A, B> HEDDLE_TILE auto operator symbol(A const& a, B const& b) {      \
    using V = detail::vec_of<A, B>;                                                                   \
    return detail::apply<detail::op, mask_t<V>>(detail::as_vec<V>(first), detail::as_vec<V>(second)); \
  }
HEDDLE_VEC_COMPARISON(<, lt_op, a, b)
HEDDLE_VEC_COMPARISON(<=, le_op, a, b)
HEDDLE_VEC_COMPARISON(>, lt_op, b, a)
HEDDLE_VEC_COMPARISON(>=, le_op, b, a)
HEDDLE_VEC_COMPARISON(==, eq_op, a, b)
HEDDLE_VEC_COMPARISON(!=, ne_op, a, b)
#undef HEDDLE_VEC_COMPARISON

/// All bits of every lane inverted; of a mask, the opposite.
template <class T, int W, int R>
  requires std::integral<T> HEDDLE_TILE vec<T, W, R>
operator~(vec<T, W, R> const& a) { return a ^ static_cast<T>(-1); }
template <class T, int W, int R>
  requires std::integral<T> HEDDLE_TILE vec<T, W, R>
operator!(vec<T, W, R> const& a) { return ~a; }

/// Minus a: of a float, the other sign bit.
template <class T, int W, int R>
HEDDLE_TILE vec<T, W, R> operator-(vec<T, W, R> const& a) {
  using V = vec<T, W, R>;
  if constexpr (std::floating_point<T>) {
    using bits = rebind_lanes<V, uint_bits_t<T>>;
    constexpr uint_bits_t<T> sign = uint_bits_t<T>{1} << (sizeof(T) * 8 - 1);
    return detail::apply<detail::bit_cast_op<T>, V>(detail::apply<detail::bit_cast_op<uint_bits_t<T>>, bits>(a) ^ sign);
  } else {
    return V::zero() - a;
  }
}

/// Every lane shifted by one number of bits, fixed at compile time; right shifts of signed lanes keep the sign.
template <int Count, class T, int W, int R>
HEDDLE_TILE vec<T, W, R> shift_left(vec<T, W, R> const& a) {
  return detail::apply<detail::shift_op<Count, true>, vec<T, W, R>>(a);
}
template <int Count, class T, int W, int R>
HEDDLE_TILE vec<T, W, R> shift_right(vec<T, W, R> const& a) {
  return detail::apply<detail::shift_op<Count, false>, vec<T, W, R>>(a);
}

/// As for one number (core/arith.hpp), in every lane.
template <class A, class B, class C>
requires detail::vec_operands<A, B, C> HEDDLE_TILE auto fma(A const& a, B const& b, C const& c) {
  using V = detail::vec_of<A, B, C>;
  return detail::apply<detail::fma_op, V>(detail::as_vec<V>(a), detail::as_vec<V>(b), detail::as_vec<V>(c));
}
template <class A, class B>
requires detail::vec_operands<A, B> HEDDLE_TILE auto mul(A const& a, B const& b) { return a * b; }
template <class A, class B>
requires detail::vec_operands<A, B> HEDDLE_TILE auto add(A const& a, B const& b) { return a + b; }
template <class M, class A, class B>
  requires(is_vec<M>&& detail::vec_operands<A, B>)
HEDDLE_TILE auto select(M const& condition, A const& a, B const& b) {
  using V = detail::vec_of<A, B>;
  static_assert(std::is_same_v<M, mask_t<V>>, "the mask has the lanes of the operands");
  return detail::apply<detail::select_op, V>(condition, detail::as_vec<V>(a), detail::as_vec<V>(b));
}
template <class T, int W, int R>
HEDDLE_TILE vec<T, W, R> sqrt(vec<T, W, R> const& a) {
  return detail::apply<detail::sqrt_op, vec<T, W, R>>(a);
}
template <class To, class T, int W, int R>
  requires(sizeof(To) == sizeof(T))
HEDDLE_TILE vec<To, W, R> bit_cast(vec<T, W, R> const& a) {
  return detail::apply<detail::bit_cast_op<To>, vec<To, W, R>>(a);
}
template <class A, class B>
requires detail::vec_operands<A, B> HEDDLE_TILE auto max(A const& x, B const& y) {
  using V = detail::vec_of<A, B>;
  V const a = detail::as_vec<V>(x), b = detail::as_vec<V>(y);
  if constexpr (std::floating_point<lane_t<V>>) {
    using bits = uint_bits_t<lane_t<V>>;
    constexpr bits sign = bits{1} << (sizeof(bits) * 8 - 1);
    auto const p = bit_cast<bits>(select(a > b, a, b)), q = bit_cast<bits>(select(b > a, b, a));
    return bit_cast<lane_t<V>>((p | q) & ((p & q) | static_cast<bits>(~sign)));
  } else {
    return select(a > b, a, b);
  }
}
template <class A, class B>
requires detail::vec_operands<A, B> HEDDLE_TILE auto min(A const& x, B const& y) {
  using V = detail::vec_of<A, B>;
  V const a = detail::as_vec<V>(x), b = detail::as_vec<V>(y);
  if constexpr (std::floating_point<lane_t<V>>) {
    using bits = uint_bits_t<lane_t<V>>;
    return bit_cast<lane_t<V>>(bit_cast<bits>(select(a < b, a, b)) | bit_cast<bits>(select(b < a, b, a)));
  } else {
    return select(a < b, a, b);
  }
}
template <class T, int W, int R>
HEDDLE_TILE vec<T, W, R> abs(vec<T, W, R> const& a) {
  if constexpr (std::floating_point<T>) {
    using bits = uint_bits_t<T>;
    return bit_cast<T>(bit_cast<bits>(a) & static_cast<bits>(~(bits{1} << (sizeof(bits) * 8 - 1))));
  } else if constexpr (std::is_signed_v<T>) {
    return select(a < T{0}, -a, a);
  } else {
    return a;
  }
}

/// Converts every lane by value; a float must be inside the range of an integer target. Registers of the result
/// have as many lanes as those of the operand.
template <class To, class T, int W, int R>
  requires(sizeof(To) * R <= 64)
HEDDLE_TILE vec<To, W, R> convert(vec<T, W, R> const& a) {
  return detail::apply<detail::convert_op<To>, vec<To, W, R>>(a);
}

/// Whether every lane, or any lane, of a mask is set.
template <class T, int W, int R>
HEDDLE_TILE bool all(vec<T, W, R> const& mask) {
  T r = static_cast<T>(-1);
  for (int i = 0; i < W; ++i) r = static_cast<T>(r & mask.lane[i]);
  return r != 0;
}
template <class T, int W, int R>
HEDDLE_TILE bool any(vec<T, W, R> const& mask) {
  T r = 0;
  for (int i = 0; i < W; ++i) r = static_cast<T>(r | mask.lane[i]);
  return r != 0;
}

}  // namespace heddle
