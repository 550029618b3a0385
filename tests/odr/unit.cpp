// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled once with -DODR_UNIT=odr_first and once with -DODR_UNIT=odr_second, with different flags.

#if defined(ODR_MORE)  // what else a file includes must not matter either
#include <heddle/exec/openmp_executor.hpp>
#endif

#include "unit.hpp"

using namespace heddle;

namespace {

bool checks_indices() {
  double memory[4] = {0, 1, 2, 3};
  view<double, 1> const v(memory, dims<1>(2));
  try {
    return v(3) != 3.0;
  } catch (contract_error const&) {
    return true;
  }
}

void fill(odr::exchange& x) {
  x.work->for_each_tile(30, [v = x.table->view()](index_t i, int) { v(i / 5, i % 5) = static_cast<double>(i); });
}

char const* make(odr::exchange& x) {
  x.space = new host_space;
  x.threads = new threads_executor(2);
  x.serial = new serial_executor(*x.space);
  x.work = new odr::queue(2);
  x.work->scratch().poison(true);
  x.times = new recorder(100, *x.space);
  x.table = new tensor<double, 2>(*x.work, *x.space, dims<2>(6, 5));
  x.window = slice(x.table->view(), 0, 1, 5);
  x.row = select(view<double, 2>(x.window), 0, 3);
  fill(x);
  x.event = new queue_event(x.work->record());
  return nullptr;
}

char const* use_tables(odr::exchange& x) {
  observed watched(*x.work, *x.times);
  {
    observed_span scope(watched, {.operation = "double"});
    scratch_frame frame(watched);
    double* const s = frame.take<double>(20);
    watched.for_each_tile(20, [s, v = x.window](index_t i, int) { s[i] = 2 * v(i / 5, i % 5); });
    watched.for_each_tile(20, [s, v = x.window](index_t i, int) { v(i / 5, i % 5) = s[i]; });
  }
  x.serial->wait(x.work->record());
  if (x.row(4) != 48.0) return "a view of the other unit shows another value";
  auto const wide = reshape(x.table->view(), dims<1>(30));
  if (wide(24) != 48.0 || transpose(x.table->view())(4, 4) != 48.0) return "shapes of the two units differ";
  if (can_reshape(transpose(x.table->view()), dims<1>(30))) return "a transposed table can't be flat";
  index_t spans = 0;
  x.times->for_each([&](recorded_span const& s) { spans += s.end_ns >= s.begin_ns; });
  return spans >= 1 ? nullptr : "the other unit's recorder saw nothing";
}

char const* use(odr::exchange& x) {
  x.event->block();
  fill(x);
  *x.event = x.work->record();
  queue_event const copy = *x.event;
  odr::queue mine(2);
  mine.wait(copy);
  mine.for_each_tile(1, [v = x.window, s = &x.sum](index_t, int) {
    *s = 0;
    for (index_t i = 0; i < v.extent(0); ++i)
      for (index_t j = 0; j < v.extent(1); ++j) *s = *s + v(i, j);
  });
  x.work->wait(mine.record());
  mine.synchronize();
  if (x.sum != 20 * 14.5) return "work of one unit on the other's table gave another sum";
  int tiles = 0;
  x.threads->for_each_tile(1000, [t = &tiles](index_t, int) { __atomic_fetch_add(t, 1, __ATOMIC_RELAXED); });
  if (tiles != 1000) return "the other unit's team lost tiles";
  context const run(*x.work, *x.work, default_mesh, {.seed = 3});
  call<std::remove_cv_t<decltype(run)>> const c{&run};
  if (c.at("a").at(1).site != site_of("a.1") || c.exec().concurrency() != 2) return "context";
  return use_tables(x);
}

char const* fail(odr::exchange& x) {
  x.work->for_each_tile(4, [](index_t i, int) { HEDDLE_EXPECTS(i != 2, "made to fail", i); });
  try {
    x.space->allocate_now(std::size_t{1} << 62, 64);
  } catch (error const& e) {
    return e.code() == errc::out_of_memory && name(e.code())[0] == 'o' ? nullptr : "wrong code";
  }
  return "too much memory was granted";
}

char const* free(odr::exchange& x) {
  delete x.event;
  delete x.table;
  x.work->synchronize();
  delete x.times;
  delete x.serial;
  if (x.space->counts().live != 0) return "memory is left";
  delete x.work;
  delete x.threads;
  delete x.space;
  x = odr::exchange{};
  return nullptr;
}

odr::unit const table = {HEDDLE_TAG,
                         HEDDLE_CONTRACTS,
                         &checks_indices,
                         reinterpret_cast<void const*>(&usable_cores),
                         &live_threads,
                         &make,
                         &use,
                         &fail,
                         &free};

}  // namespace

extern "C" odr::unit const* ODR_UNIT() { return &table; }
