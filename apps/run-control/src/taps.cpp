#include "taps.hpp"

#include <weir/tap/stream.hpp>

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace weir::run_control {
namespace {

constexpr int kTapSourcesMax = 65'536;

}  // namespace

Taps::Taps(const Parts& parts, std::uint16_t subscribe_port, Orders::Send send)
    : parts_(parts), subscribe_port_(subscribe_port), send_(std::move(send)), leases_(parts.own.taps_max) {}

std::string Taps::check(const v1::TapWish& wish) const {
  if (!tap::good_id(wish.id())) return "tap: the client's id is 16 hex digits, not '" + wish.id() + "'";
  if (wish.streams_size() == 0) return "tap: no stream given: use " + tap::stream_names();
  for (const std::string& name : wish.streams()) {
    if (tap::find_stream(name) == nullptr)
      return "tap: no stream '" + name + "'; there are " + tap::stream_names();
  }
  if (wish.sources_size() > kTapSourcesMax)
    return fmt::format("tap: {} sources are too many (at most {}): omit them for all", wish.sources_size(),
                       kTapSourcesMax);
  if (parts_.own.tap_bytes_per_s == 0) return "tap: this farm has none: its tap.rate_bytes_max is 0";
  return {};
}

std::string Taps::take(const v1::TapWish& wish, v1::TapPlace& place) {
  if (std::string error = check(wish); !error.empty()) return error;
  const auto lease_ms = static_cast<std::uint32_t>(parts_.own.tap_lease_ns / kMillisecond);
  for (const std::string& name : wish.streams()) {
    const std::string tag = tap::tag_prefix(name, wish.id());
    if (wish.ends()) {
      leases_.end(tag);
    } else if (!leases_.renew(tag, lease_ms * kMillisecond, parts_.now_ns)) {
      return fmt::format("tap: the farm has {} taps, the maximum (tap.taps_max): end one first",
                         leases_.count());
    }
    place.add_tags(tag);
  }
  v1::BusMessage message;
  *message.mutable_tap() = wish;
  message.mutable_tap()->set_lease_ms(lease_ms);
  for (std::size_t i = 0; i < parts_.members.size(); ++i) {
    const control::Member& member = parts_.machine.members()[i];
    if (member.plan.role != Role::dcm || !member.live || !member.told.in_run()) continue;
    send_(parts_.members[i].client, message);
    place.set_dcms(place.dcms() + 1);
  }
  place.set_subscribe_port(subscribe_port_);
  place.set_lease_ms(lease_ms);
  return {};
}

}  // namespace weir::run_control
