#include "record_keeper.hpp"

#include <weir/base/assert.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::run_control {

std::string RecordKeeper::write(const std::string& name, Write write) {
  std::erase_if(kept_, [&](const Record& one) { return one.name == name; });
  std::string why = write();
  if (why.empty()) return {};
  why_ = why;
  kept_.push_back({name, std::move(write)});
  if (kept_.size() > kKeptMax) {
    WEIR_ASSERT(kept_.size() == kKeptMax + 1);
    dropped_.push_back(kept_.front().name);
    kept_.pop_front();
  }
  return why;
}

std::vector<control::Event> RecordKeeper::look(TimeNs now, std::optional<std::uint64_t> room) {
  std::vector<control::Event> events;
  if (now < next_look_ns_) return events;
  next_look_ns_ = now + kInterval;
  for (const std::string& name : std::exchange(dropped_, {}))
    events.push_back({control::Level::error, name + " is lost: too many records could not be written"});
  while (!kept_.empty()) {
    std::string why = kept_.front().write();
    if (!why.empty()) {
      why_ = std::move(why);
      break;
    }
    events.push_back({control::Level::info, kept_.front().name + " is written after all"});
    kept_.pop_front();
  }
  const bool little = room && *room < kRoomMin;
  if (little && !free_bytes_)
    events.push_back({control::Level::warning,
                      fmt::format("'{}' has only {} kB left for records: make room", folder_, *room / 1000)});
  free_bytes_ = little ? room : std::nullopt;
  return events;
}

control::HealthView::Records RecordKeeper::state() const {
  control::HealthView::Records state{folder_, free_bytes_, {}, {}};
  for (const Record& one : kept_) state.unwritten.push_back(one.name);
  if (!kept_.empty()) state.why = why_;
  return state;
}

}  // namespace weir::run_control
