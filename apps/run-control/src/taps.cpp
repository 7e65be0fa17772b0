// Samples of a run, for who asks: run control checks the wish and hands it to the DCMs.
#include "core.hpp"
#include <weir/tap/stream.hpp>

#include <fmt/format.h>

#include <cmath>

namespace weir::run_control {
namespace {

constexpr int kTapSourcesMax = 65'536;

}  // namespace

std::string RunControl::Core::check_tap(const v1::TapWish& wish) const {
  if (!tap::good_id(wish.id())) return "tap: the client's id is 16 hex digits, not '" + wish.id() + "'";
  if (wish.streams_size() == 0) return "tap: which streams? There are " + tap::stream_names();
  for (const std::string& name : wish.streams()) {
    if (tap::find_stream(name) == nullptr)
      return "tap: no stream '" + name + "'; there are " + tap::stream_names();
  }
  if (wish.sources_size() > kTapSourcesMax)
    return fmt::format("tap: {} sources are too many, {} may be named: leave them out for all",
                       wish.sources_size(), kTapSourcesMax);
  if (file.tap().rate_bytes_max() == 0) return "tap: this farm has none: its tap.rate_bytes_max is 0";
  return {};
}

std::string RunControl::Core::tap(const v1::TapWish& wish, v1::TapPlace& place) {
  if (std::string error = check_tap(wish); !error.empty()) return error;
  const auto lease_ms =
      static_cast<std::uint32_t>(std::llround(file.tap().lease_s() * kSecond / kMillisecond));
  for (const std::string& name : wish.streams()) {
    const std::string tag = tap::tag_prefix(name, wish.id());
    if (wish.ends()) {
      taps->end(tag);
    } else if (!taps->renew(tag, lease_ms * kMillisecond, now_ns)) {
      return fmt::format("tap: the farm has {} already, as many as tap.taps_max allows: end one first",
                         taps->count());
    }
    place.add_tags(tag);
  }
  v1::BusMessage message;
  *message.mutable_tap() = wish;
  message.mutable_tap()->set_lease_ms(lease_ms);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const control::Member& member = machine->members()[i];
    if (member.plan.role != Role::dcm || !member.live || !member.told.in_run()) continue;
    hub->send(processes[i].client, message);
    place.set_dcms(place.dcms() + 1);
  }
  place.set_subscribe_port(hub->subscribe_port());
  place.set_lease_ms(lease_ms);
  return {};
}

}  // namespace weir::run_control
