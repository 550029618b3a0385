// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/fft.hpp>
#include <heddle/backend/cpu/detail/shuffles.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/tile/targets.hpp>

namespace heddle {
namespace detail {

/// A whole transform as two loops over groups of lines, which stay in the cache for all their passes. In a line every
/// point is a group of numbers, one for each of as many columns (then rows): real parts first, then imaginary ones.
template <class T>
struct fft_lines_task {
  static constexpr index_t group = fft_tables<T>::group, point = 2 * group;

  fft_tables<T> t;
  fft_job<T> job;
  T* between;  // [row][k1 / group][column][point]
  T* buffers;  // two lines for each worker

  HEDDLE_SHIM index_t buffer_size() const { return (t.n1 > t.n2 ? t.n1 : t.n2) * point; }
  HEDDLE_SHIM index_t column_groups() const { return tile::ceil_div(t.n2, group); }
  HEDDLE_SHIM index_t row_groups() const { return tile::ceil_div(t.n1, group); }
  HEDDLE_SHIM T* block(index_t row, index_t k1_group) const {
    return between + (row * row_groups() + k1_group) * t.n2 * point;
  }
};

/// What the lines of a loop are: rows of their own (short transforms), columns, or rows of what columns gave.
enum class fft_lines { alone, columns, rows };

struct fft_lines_body {
  template <class Isa, class T>
  using lanes = vec<T, 64 / sizeof(T), Isa::template lanes<T>>;

  template <class Isa, class T>
  HEDDLE_SHIM void operator()(Isa, fft_lines_task<T> const& task, fft_lines const& kind, index_t const& tile,
                              T* const& buffer) const {
    using V = lanes<Isa, T>;
    T* const other = buffer + task.buffer_size();
    T const* from = buffer;
    if (kind == fft_lines::alone)
      load_alone(task, tile, buffer);
    else if (kind == fft_lines::columns)
      load_columns<V>(task, tile, buffer);
    else
      from = task.block(tile / task.row_groups(), tile % task.row_groups());
    T* const result = run_line<V>(kind == fft_lines::rows ? task.t.second : task.t.first, from, other, buffer);
    if (kind == fft_lines::alone)
      store_alone(task, tile, result);
    else if (kind == fft_lines::columns)
      store_columns<V>(task, tile, result);
    else
      store_rows<V>(task, tile, result);
  }

 private:
  /// All passes of one line, from `from` through the two buffers by turns, `to` first. Returns where the results are.
  template <class V, class T>
  static HEDDLE_SHIM T* run_line(fft_line<T> const& line, T const* from, T* to, T* next) {
    fft_each_pass(line, [&](int, fft_pass<T> const& pass) HEDDLE_LAMBDA {
      switch (pass.radix) {
        case 8:
          run_pass<8, V>(pass, from, to);
          break;
        case 4:
          run_pass<4, V>(pass, from, to);
          break;
        case 2:
          run_pass<2, V>(pass, from, to);
          break;
        case 3:
          run_pass<3, V>(pass, from, to);
          break;
        case 5:
          run_pass<5, V>(pass, from, to);
          break;
        case 1:
          run_pass<1, V>(pass, from, to);
          break;
        default:
          run_odd<V>(pass, from, to);
      }
      from = to;
      to = next;
      next = const_cast<T*>(from);
    });
    return const_cast<T*>(from);
  }

  template <int R, class V, class T>
  static HEDDLE_SHIM void run_pass(fft_pass<T> const& pass, T const* from, T* to) {
    constexpr index_t point = fft_lines_task<T>::point;
    index_t const s = pass.s, m = pass.m;
    for (index_t p = 0; p < m; ++p) {
      T const* const w = pass.factors + 3 * p * (R - 1);
      T const* const in = from + s * p * point;
      T* const out = to + s * R * p * point;
      if (m > 1)
        for (index_t q = 0; q < s; ++q)
          butterfly<R, true, V>(std::make_integer_sequence<int, R>{}, in + q * point, s * m * point, out + q * point,
                                s * point, w);
      else
        for (index_t q = 0; q < s; ++q)
          butterfly<R, false, V>(std::make_integer_sequence<int, R>{}, in + q * point, s * m * point, out + q * point,
                                 s * point, w);
    }
  }

  template <int R, bool Factors, class V, class T, int... K>
  static HEDDLE_SHIM void butterfly(std::integer_sequence<int, K...>, T const* in, index_t in_step, T* out,
                                    index_t out_step, T const* w) {
    constexpr index_t group = fft_lines_task<T>::group;
    V re[] = {V::load(in + K * in_step)...}, im[] = {V::load(in + K * in_step + group)...};
    fft_butterfly<R>::run(re, im);
    if constexpr (Factors)
      ((K > 0 ? fft_multiply(re[K], im[K], V::splat(w[K > 0 ? 3 * K - 3 : 0]), V::splat(w[K > 0 ? 3 * K - 2 : 0]),
                             V::splat(w[K > 0 ? 3 * K - 1 : 0]))
              : void()),
       ...);
    (re[K].store(out + K * out_step), ...);
    (im[K].store(out + K * out_step + group), ...);
  }

  template <class V, class T>
  static HEDDLE_SHIM void run_odd(fft_pass<T> const& pass, T const* from, T* to) {
    constexpr index_t group = fft_lines_task<T>::group, point = fft_lines_task<T>::point;
    index_t const s = pass.s, m = pass.m;
    int const r = pass.radix;
    V re[fft_largest_radix], im[fft_largest_radix];
    for (index_t i = 0; i < s * m; ++i) {
      index_t const p = i / s, q = i % s;
      for (int k = 0; k < r; ++k) {
        T const* const in = from + (q + s * (p + m * k)) * point;
        re[k] = V::load(in), im[k] = V::load(in + group);
      }
      fft_odd(r, re, im, pass.roots);
      for (int k = 0; k < r; ++k) {
        if (k > 0 && m > 1) {
          T const* const w = pass.factors + 3 * (p * (r - 1) + k - 1);
          fft_multiply(re[k], im[k], V::splat(w[0]), V::splat(w[1]), V::splat(w[2]));
        }
        T* const out = to + (q + s * (r * p + k)) * point;
        re[k].store(out), im[k].store(out + group);
      }
    }
  }

  /// A group of short rows, one in each lane.
  template <class T>
  static HEDDLE_SHIM void load_alone(fft_lines_task<T> const& task, index_t tile, T* to) {
    constexpr index_t group = fft_lines_task<T>::group, point = fft_lines_task<T>::point;
    fft_job<T> const& job = task.job;
    for (index_t lane = 0; lane < group; ++lane) {
      bool const used = tile * group + lane < job.rows;
      T const* const row = job.in.data + (used ? (tile * group + lane) * job.in.row : 0);
      for (index_t i = 0; i < task.t.n; ++i) {
        to[i * point + lane] = used ? row[2 * i + job.inverse] : T(0);
        to[i * point + group + lane] = used ? row[2 * i + !job.inverse] : T(0);
      }
    }
  }
  template <class T>
  static HEDDLE_SHIM void store_alone(fft_lines_task<T> const& task, index_t tile, T const* from) {
    constexpr index_t group = fft_lines_task<T>::group, point = fft_lines_task<T>::point;
    fft_job<T> const& job = task.job;
    for (index_t lane = 0; lane < group && tile * group + lane < job.rows; ++lane) {
      T* const row = job.out.data + (tile * group + lane) * job.out.row;
      for (index_t i = 0; i < task.t.n; ++i) {
        T const re = from[i * point + lane], im = from[i * point + group + lane];
        row[2 * i + job.inverse] = job.scale == T(1) ? re : mul(re, job.scale);
        row[2 * i + !job.inverse] = job.scale == T(1) ? im : mul(im, job.scale);
      }
    }
  }

  /// A group of neighbouring columns of one row.
  template <class V, class T>
  static HEDDLE_SHIM void load_columns(fft_lines_task<T> const& task, index_t tile, T* to) {
    constexpr index_t group = fft_lines_task<T>::group, point = fft_lines_task<T>::point;
    fft_job<T> const& job = task.job;
    index_t const row = tile / task.column_groups(), column = tile % task.column_groups() * group;
    index_t const left = task.t.n2 - column, n = left < group ? left : group;
    T const* from = job.in.data + (row * job.in.row + 2 * column);
    T* const re_to = to + (job.inverse ? group : 0);
    T* const im_to = to + (job.inverse ? 0 : group);
    for (index_t i = 0; i < task.t.n1; ++i, from += 2 * task.t.n2) {
      V re, im;
      load_pairs(from, n, re, im);
      re.store(re_to + i * point), im.store(im_to + i * point);
    }
  }
  /// Times the factors between the lines, then turned: lanes were columns and become results.
  template <class V, class T>
  static HEDDLE_SHIM void store_columns(fft_lines_task<T> const& task, index_t tile, T const* from) {
    constexpr index_t group = fft_lines_task<T>::group, point = fft_lines_task<T>::point;
    index_t const row = tile / task.column_groups(), at = tile % task.column_groups();
    index_t const left = task.t.n2 - at * group, n = left < group ? left : group, n1 = task.t.n1;
    T const* const shared = task.t.shared + 3 * at * n1;
    alignas(64) T block[2][group * group], turned[group * group];
    for (index_t first = 0; first < n1; first += group) {
      for (index_t i = 0; i < group; ++i) {
        index_t const k = first + i;
        V re = V::zero(), im = re;
        if (k < n1) {
          T const *const x = from + k * point, *const a = task.t.lane + k * point, *const w = shared + 3 * k;
          re = V::load(x), im = V::load(x + group);
          V wr = V::load(a), wi = V::load(a + group);
          fft_multiply(wr, wi, V::splat(w[0]), V::splat(w[1]), V::splat(w[2]));
          fft_multiply(re, im, wr, wi, -wi);
        }
        re.store(block[0] + i * group), im.store(block[1] + i * group);
      }
      T* const to = task.block(row, first / group) + at * group * point;
      for (index_t part = 0; part < 2; ++part) {
        turn_square<group, V::register_lanes>(block[part], turned);
        for (index_t i = 0; i < n; ++i) V::load(turned + i * group).store(to + i * point + part * group);
      }
    }
  }

  /// Results of a group of rows: neighbours in the output.
  template <class V, class T>
  static HEDDLE_SHIM void store_rows(fft_lines_task<T> const& task, index_t tile, T const* from) {
    constexpr index_t group = fft_lines_task<T>::group, point = fft_lines_task<T>::point;
    fft_job<T> const& job = task.job;
    index_t const row = tile / task.row_groups(), first = tile % task.row_groups() * group;
    index_t const left = task.t.n1 - first, n = left < group ? left : group;
    T* to = job.out.data + (row * job.out.row + 2 * first);
    T const* const re_from = from + (job.inverse ? group : 0);
    T const* const im_from = from + (job.inverse ? 0 : group);
    V const scale = V::splat(job.scale);
    for (index_t i = 0; i < task.t.n2; ++i, to += 2 * task.t.n1) {
      V re = V::load(re_from + i * point), im = V::load(im_from + i * point);
      if (job.scale != T(1)) re = mul(re, scale), im = mul(im, scale);
      store_pairs(to, n, re, im);
    }
  }
};

}  // namespace detail

/// Transforms on CPUs: groups of lines in the cache, instruction set chosen at run time. Gives the bits of the generic
/// form.
template <>
struct kernel<fft_fn, cpu_tag> {
  template <class Executor, class T>
  HEDDLE_FN static void run(Executor& exec, detail::fft_tables<T> const& t, detail::fft_job<T> const& job) {
    using task_type = detail::fft_lines_task<T>;
    if (job.in.column != 2 || job.out.column != 2) return detail::fft_run_passes(exec, t, job);
    bool const alone = t.n2 == 1;
    task_type task{t, job, nullptr, nullptr};
    scratch_frame<Executor> frame(exec);
    if (!alone) task.between = frame.template take<T>(job.rows * task.row_groups() * t.n2 * task_type::point);
    task.buffers = frame.template take<T>(2 * exec.concurrency() * task.buffer_size());
    if (alone) return loop(exec, task, detail::fft_lines::alone, tile::ceil_div(job.rows, task_type::group));
    loop(exec, task, detail::fft_lines::columns, job.rows * task.column_groups());
    loop(exec, task, detail::fft_lines::rows, job.rows * task.row_groups());
  }

 private:
  template <class Executor, class T>
  HEDDLE_FN static void loop(Executor& exec, detail::fft_lines_task<T> const& task, detail::fft_lines kind,
                             index_t tiles) {
    observed_span<Executor> const scope(exec, [&] {
      index_t const points = task.job.rows * task.t.n, part = kind == detail::fft_lines::rows ? 1 : 0;
      index_t flops = part == 0 && kind == detail::fft_lines::columns ? 6 * points : 0;
      detail::fft_each_pass(part ? task.t.second : task.t.first, [&](int, detail::fft_pass<T> const& pass) {
        flops += points * detail::fft_flops_of(pass.radix);
      });
      return span{.operation = part ? "fft.rows" : "fft.columns",
                  .shape = {task.job.rows, task.t.n},
                  .bytes = 4 * points * static_cast<index_t>(sizeof(T)),
                  .flops = flops};
    });
    exec.for_each_tile(tiles, [task, kind](index_t tile, int worker) {
      dispatch_isa(detail::fft_lines_body{}, task, kind, tile, task.buffers + 2 * worker * task.buffer_size());
    });
  }
};

}  // namespace heddle
