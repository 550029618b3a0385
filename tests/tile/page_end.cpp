// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/linalg/tile_matmul.hpp>
#include <heddle/nn/softmax.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

#include <sys/mman.h>
#include <unistd.h>

using namespace heddle;

namespace {

/// Memory whose last element is followed by a page that traps.
template <class T>
class guarded {
 public:
  explicit guarded(index_t n) : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    bytes_ = (static_cast<std::size_t>(n) * sizeof(T) + page_ - 1) / page_ * page_;
    memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, bytes_ + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory_ + bytes_, page_, PROT_NONE);
    data = reinterpret_cast<T*>(memory_ + bytes_) - n;
    for (index_t i = 0; i < n; ++i) data[i] = T(static_cast<float>(i % 13) * 0.25f);
  }
  guarded(guarded const&) = delete;
  ~guarded() { ::munmap(memory_, bytes_ + page_); }
  T* data;

 private:
  std::size_t page_, bytes_;
  std::byte* memory_;
};

template <class T>
float run_at_page_end(index_t rows, index_t columns) {
  serial_executor exec;
  guarded<T> x(rows * columns), y(rows * columns);
  guarded<float> c(rows * rows), total(1);
  view<T const, 2> const in(x.data, dims<2>(rows, columns));
  view<T, 2> const out(y.data, dims<2>(rows, columns));
  copy(exec, in, out);
  nn::softmax(exec, in, out);
  linalg::tile_matmul(exec, in, transpose(in), view<float, 2>(c.data, dims<2>(rows, rows)));
  reduce(exec, out, view<float, 1>(total.data, dims<1>(1)), plus<float>{});
  return *total.data;
}

}  // namespace

TEST_CASE("vector code reads and writes nothing behind its operands", "[tile]") {
  test::for_each_isa([](isa) {
    for (index_t columns = 1; columns <= 70; ++columns)
      for (index_t rows : {1, 3, 15}) {
        // Every row of a softmax adds up to one.
        REQUIRE(std::abs(run_at_page_end<float>(rows, columns) - static_cast<float>(rows)) < 1e-4f);
        REQUIRE(std::abs(run_at_page_end<bf16>(rows, columns) - static_cast<float>(rows)) <
                0.01f * static_cast<float>(rows));
      }
  });
}
