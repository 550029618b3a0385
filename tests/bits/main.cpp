// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bits.hpp"

#include <cstdlib>
#include <exception>

int main(int count, char** arguments) {
  try {
    if (count > 1) heddle::test::threads = std::atoi(arguments[1]);
    for (heddle::test::section* s = heddle::test::section::first; s; s = s->next) s->run();
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
