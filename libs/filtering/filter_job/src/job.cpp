#include <weir/filter_job/job.hpp>

#include <cstddef>
#include <vector>

namespace weir::filter_job {
namespace {

constexpr std::size_t kKeepCapacityMax = std::size_t{1} << 20;

template <class T>
void clear_and_trim(std::vector<T>& items) {
  items.clear();
  if (items.capacity() * sizeof(T) > kKeepCapacityMax) items.shrink_to_fit();
}

}  // namespace

void FilterResult::clear() {
  verdict = StepVerdict::error;
  keep = Keep::all;
  streams = 0;
  prescale = 1;
  prescale_counter = 0;
  clear_and_trim(keep_sources);
  clear_and_trim(events);
  clear_and_trim(event_bytes);
  clear_and_trim(filter_result);
  forward_group = 0;
  need_all = false;
  clear_and_trim(need_sources);
  clear_and_trim(prefetch_sources);
  if (!fills.empty()) clear_and_trim(fills);
  if (alert) alert.reset();
  error.clear();
  wall_ns = 0;
  cpu_ns = 0;
}

}  // namespace weir::filter_job
