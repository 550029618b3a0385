// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/compact.hpp>
#include <heddle/algorithm/coo.hpp>
#include <heddle/algorithm/fft.hpp>
#include <heddle/algorithm/histogram.hpp>
#include <heddle/algorithm/partition_by_key.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/rfft.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/scatter.hpp>
#include <heddle/algorithm/search.hpp>
#include <heddle/algorithm/segmented.hpp>
#include <heddle/algorithm/sort_by.hpp>
#include <heddle/algorithm/sparse.hpp>
#include <heddle/algorithm/stencil.hpp>
#include <heddle/algorithm/top_k.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/core/monoid.hpp>
#include <heddle/exec/reference_executor.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {

constexpr char const* twice = "stand twice";
constexpr char const* apart = "overlap no input";
constexpr char const* in_place = "(in place) or overlap none";

#define REFUSES(text, ...) CHECK_THROWS_WITH(__VA_ARGS__, test::has_text(text))

template <class T>
view<T, 1> part_of(T* memory, index_t first, index_t n, index_t stride = 1) {
  return view<T, 1>(memory + first, dims<1>(n), stride);
}

struct memory {
  reference_executor exec;
  float x[16] = {};
  std::int32_t i[16] = {};
  index_t n[16] = {};
  view<float, 1> a = part_of(x, 0, 4), next = part_of(x, 1, 4), far = part_of(x, 8, 4), same = part_of(x, 8, 4, 0);
  view<index_t, 1> one = part_of(n, 0, 1);
};

}  // namespace

TEST_CASE("operations in place take an input or what lies apart", "[algorithm]") {
  memory m;
  REFUSES(in_place, copy(m.exec, m.a, m.next));
  REFUSES(twice, copy(m.exec, m.a, m.same));
  REFUSES(in_place, transform(m.exec, m.next, plus<float>{}, m.far, m.a));
  REFUSES(in_place, inclusive_scan(m.exec, m.a, m.next, plus<float>{}));
  REFUSES(in_place, exclusive_scan(m.exec, m.next, m.a, plus<float>{}));
  REFUSES(twice, inclusive_scan(m.exec, m.a, m.same, plus<float>{}));
  m.n[1] = 4;
  view<index_t const, 1> const offsets = part_of(m.n, 0, 2);
  REFUSES(in_place, segmented_inclusive_scan(m.exec, m.a, offsets, m.next, plus<float>{}));
  REFUSES(apart, segmented_reduce(m.exec, m.a, offsets, part_of(m.x, 2, 1), plus<float>{}));
  REFUSES(in_place, heddle::sort(m.exec, m.a, m.next));
  REFUSES(in_place, sort_by(m.exec, m.a, m.next, detail::less_fn{}));
  REFUSES(in_place, sort_pairs(m.exec, m.far, m.far, m.a, m.next));
  REFUSES(apart, sort_pairs(m.exec, m.a, m.a, m.far, m.a));
  REFUSES(apart, sort_pairs(m.exec, m.a, m.far, m.a, m.a));
  auto* const pairs = reinterpret_cast<complex<float>*>(m.x);
  fft_plan<float> const plan(4);
  REFUSES(in_place, fft(m.exec, plan, part_of(pairs, 0, 4), part_of(pairs, 1, 4)));
  REFUSES(twice, ifft(m.exec, plan, part_of(pairs, 0, 4), part_of(pairs, 4, 4, 0)));
  REFUSES(in_place, lower_bound(m.exec, part_of(m.i, 0, 4), part_of(m.i, 8, 2), part_of(m.i, 9, 2)));
  REFUSES(apart, lower_bound(m.exec, part_of(m.i, 0, 4), part_of(m.i, 8, 2), part_of(m.i, 3, 2)));
}

TEST_CASE("other operations keep their outputs apart", "[algorithm]") {
  memory m;
  auto const yes = [](float) { return true; };
  REFUSES(apart, merge(m.exec, part_of(m.x, 0, 2), part_of(m.x, 8, 2), m.a));
  REFUSES(twice, merge(m.exec, part_of(m.x, 0, 2), part_of(m.x, 2, 2), m.same));
  auto const sum = [](auto const& v) HEDDLE_LAMBDA { return v(-1) + v(1); };
  REFUSES(apart, stencil(m.exec, m.a, m.a, 1, sum, clamp_edge{}));
  REFUSES(apart, partition(m.exec, m.a, m.a, m.one, yes));
  REFUSES(apart, select_if(m.exec, m.a, m.next, m.one, yes));
  REFUSES(twice, select_if(m.exec, m.a, m.same, m.one, yes));
  REFUSES(apart, run_length_encode(m.exec, m.a, m.far, part_of(m.n, 0, 4), m.one));
  REFUSES(apart, reduce(m.exec, m.a, part_of(m.x, 3, 1), plus<float>{}));
  REFUSES(apart, find_if(m.exec, part_of(m.n, 0, 4), m.one, [](index_t) { return true; }));
  REFUSES(apart, scatter_elements(m.exec, m.a, part_of(m.i, 0, 4), m.next));
  REFUSES(apart, argsort(m.exec, part_of(m.i, 0, 4), part_of(m.i, 2, 4)));
  view<float, 2> const rows(m.x, dims<2>(1, 4));
  view<std::int32_t, 2> const best(m.i, dims<2>(1, 2));
  REFUSES(apart, top_k(m.exec, rows, view<float, 2>(m.x + 3, dims<2>(1, 2)), best));
  REFUSES(twice, top_k(m.exec, rows, view<float, 2>(m.x + 8, dims<2>(1, 2), 0, 0), best));
  REFUSES(apart, select_kth(m.exec, m.a, 1, part_of(m.x, 2, 1)));
  REFUSES(twice, histogram(m.exec, m.a, 0.0f, 1.0f, part_of(m.n, 0, 4, 0)));
  REFUSES(apart, histogram(m.exec, m.a, 0.0f, 1.0f, part_of(m.n, 0, 4), part_of(m.n, 3, 3)));
  auto const keys = part_of(m.i, 0, 4), order = part_of(m.i, 8, 4);
  auto const counts = part_of(m.n, 0, 2), offsets = part_of(m.n, 2, 3), dropped = part_of(m.n, 5, 1);
  REFUSES(twice, partition_by_key(m.exec, keys, counts, offsets, part_of(m.i, 8, 4, 0), dropped));
  REFUSES(apart, partition_by_key(m.exec, keys, counts, part_of(m.n, 1, 3), order, dropped));
  REFUSES(apart, partition_by_key(m.exec, keys, counts, offsets, part_of(m.i, 3, 4), dropped));
}

TEST_CASE("products and spectra keep their outputs apart", "[algorithm]") {
  memory m;
  std::int32_t const starts[] = {0, 1, 2}, columns[] = {0, 1};
  float const values[] = {1, 2};
  csr_view<float, std::int32_t> a{};
  a.row_offsets = view<std::int32_t const, 1>(starts, dims<1>(3));
  a.columns = view<std::int32_t const, 1>(columns, dims<1>(2));
  a.values = view<float const, 1>(values, dims<1>(2));
  a.column_count = 2;
  REFUSES(apart, spmv(m.exec, a, part_of(m.x, 0, 2), part_of(m.x, 0, 2)));
  REFUSES(apart, spmm(m.exec, a, view<float, 2>(m.x, dims<2>(2, 2)), view<float, 2>(m.x + 2, dims<2>(2, 2))));
  auto* const pairs = reinterpret_cast<complex<float>*>(m.x);
  rfft_plan<float> const plan(4);
  REFUSES(apart, rfft(m.exec, plan, m.a, part_of(pairs, 0, 3)));
  REFUSES(apart, irfft(m.exec, plan, part_of(pairs, 0, 3), m.a));
}

TEST_CASE("what lies between other elements overlaps nothing", "[algorithm]") {
  memory m;
  for (int i = 0; i < 16; ++i) m.x[i] = static_cast<float>(i);
  copy(m.exec, part_of(m.x, 0, 8, 2), part_of(m.x, 1, 8, 2));
  inclusive_scan(m.exec, part_of(m.x, 0, 8, 2), part_of(m.x, 0, 8, 2), plus<float>{});
  for (int i = 0; i < 8; ++i) {
    CHECK(m.x[2 * i + 1] == static_cast<float>(2 * i));
    CHECK(m.x[2 * i] == static_cast<float>(i * (i + 1)));
  }
}
