// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every file of this folder is compiled without optimisation and looked through for functions without a tag; it has
// nothing to run. Explicit instantiation emits all members of a template, called or not.

#include <heddle/core/tensor.hpp>
#include <heddle/exec/context.hpp>
#include <heddle/exec/observed.hpp>
#include <heddle/exec/openmp_executor.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/recorder.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/exec/threads_executor.hpp>

template class heddle::extents<2, 3>;
template class heddle::extents<heddle::dynamic, 3>;
template class heddle::tensor_view<float, heddle::extents<heddle::dynamic, 3>>;
template class heddle::tensor<float, 0>;
template class heddle::tensor<float, 2>;
template class heddle::detail::loop_executor<heddle::cpu_tag>;
template class heddle::queued<heddle::serial_executor>;
template class heddle::queued<heddle::threads_executor>;
template class heddle::observed<heddle::queued<heddle::serial_executor>, heddle::recorder>;
template class heddle::observed_span<heddle::observed<heddle::queued<heddle::serial_executor>, heddle::recorder>>;
template class heddle::observed_span<heddle::serial_executor>;
template class heddle::scratch_frame<heddle::queued<heddle::serial_executor>>;
template class heddle::context<heddle::serial_executor>;
template struct heddle::call<heddle::context<heddle::serial_executor>>;

using namespace heddle;

double use_exec(double* memory) {
  threads_executor exec(2, {.pin = true});
  queued<threads_executor> queue(2);
  counter c;
  observed watched(exec, c);
  recorder times(4);
  queue_event e, f = queue.record();
  e = f;
  team_options const options{};
  team t(2, options);
  view<double, 2> const v(memory, dims<2>(3, 4));
  double sum = 0;
  watched.for_each_tile(3, [v](index_t i, int) { v(i, 0) = 1; });
  t.run(3, [](index_t, int) {});
  queue.wait(e);
  queue.wait(exec.record());
  queue.cancel();
  queue.synchronize();
  run_policy const policy{};
  context const run(exec, policy);
  call<context<threads_executor>> const here{&run};
  here.at("x").at(1).ready(0);
  times.for_each([&sum](recorded_span const& s) { sum += static_cast<double>(s.end_ns); });
  auto const turned = transpose(slice(v, 0, 1, 2));
  auto const flat = reshape(v, dims<1>(12));
  contract_handler const before = set_contract_handler(nullptr);
  set_contract_handler(before);
  error const first(errc::file, "text", 3);
  error second(first);
  second = first;
  contract_error const broken(make_text("x", 1, true, 2.0, errc::file, static_cast<void const*>(memory)));
  contract_error other(broken);
  other = broken;
  return sum + turned(0, 0) + flat(0) + select(v, 0, 1)(0) + canonical_input(v)(0, 0) + canonical(v)(0, 0) +
         read(exec, slice(flat, 0, 0, 1)) + second.rank() + other.what()[0];
}
