#include <weir/base/figures.hpp>
#include <weir/config/push_timing.hpp>
#include <weir/config/rate.hpp>
#include <weir/run/network_check.hpp>
#include <weir/wire/frame.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::run {
namespace {

constexpr double kBytesPerKb = 1000;
// A window from a third to four fifths of a port's buffer is good (docs/benchmarks). The middle of the upper
// half keeps away from both ends.
constexpr double kPartOfMost = 2.0 / 3;
constexpr double kUsPerMs = 1000;
constexpr double kWaitsMargin = 2;  // of the time that a slice needs at least

std::string kb(double bytes) {
  return bytes < 10 * kBytesPerKb ? fmt::format("{:.1f}kB", bytes / kBytesPerKb)
                                  : fmt::format("{:.0f}kB", bytes / kBytesPerKb);
}

class NetworkCheck {
 public:
  NetworkCheck(const config::PlannedFarm& planned, const config::Locations& locations,
               const run_record::FarmNetwork& network, const ExpectedTraffic& traffic)
      : dcm_(planned.farm.dcm()),
        network_settings_(planned.farm.network()),
        push_timing_(config::push_timing(planned.farm, planned.farm)),
        by_clock_(planned.farm.trigger().mode() == v1::TriggerSettings::MODE_CLOCK),
        locations_(locations),
        network_(network),
        traffic_(traffic) {}

  config::Problems run() {
    check_rate();
    check_push_wait();
    if (const auto safe = safe_window_of(network_, round_trip_ns())) {
      safe_ = *safe;
      members_ = std::max(1U, network_.port()->dcms);
      check_shaper();
      check_static_window();
    }
    for (const run_record::FarmLink& link : network_.links) check_link(link);
    return std::move(problems_);
  }

 private:
  void warn(const std::string& key, std::string what) {
    problems_.push_back({config::ProblemKind::inconsistent, config::Severity::warning, locations_.of(key),
                         key, std::move(what)});
  }

  [[nodiscard]] DurationNs round_trip_ns() const { return network_settings_.round_trip_us() * kMicrosecond; }

  void check_rate() {
    const double can = run_record::theory_of(network_, traffic_.slice).goodput_bytes_per_s;
    const double wanted = traffic_.slices_per_s * traffic_.slice.bytes;
    if (can <= 0 || wanted <= can) return;
    const bool clock = by_clock_;
    const double most = can / traffic_.slice.bytes;
    warn(
        clock ? "trigger.slice_ms" : "trigger.rate_hz",
        fmt::format("{:.4g} slices a second of {} are {}/s, {:.0f} % of the {}/s that the network can carry: "
                    "triggers will be vetoed; at most {:.4g} a second",
                    traffic_.slices_per_s, bytes_text(traffic_.slice.bytes), bytes_text(wanted),
                    std::ceil(kPercent * wanted / can), bytes_text(can), most));
  }

  // Pushed slices in order get their missing fragments no second time, so the wait has to be longer than the
  // last readouts take to send theirs through the port.
  void check_push_wait() {
    if (dcm_.incomplete() != v1::DcmSettings::INCOMPLETE_ORDER) return;  // of push running only
    const config::PushTiming& timing = push_timing_;
    const double readouts = std::max(1U, network_.readouts);
    const double part = timing.barrel ? std::min(1.0, timing.group / readouts) : 1;
    const double needs_ms =
        part * run_record::theory_of(network_, traffic_.slice).serialisation_us / kUsPerMs;
    const double slot_ms = static_cast<double>(timing.slot_ns) / static_cast<double>(kMillisecond);
    if (needs_ms <= dcm_.push_wait_ms() + slot_ms) return;
    warn(
        "dcm.push_wait_ms",
        fmt::format("with dcm.incomplete 'order' fragments are given up {:.4g} ms after the last readout may "
                    "begin to send, and {} take {:.4g} ms through the port: slices will be incomplete; set "
                    "{:.0f} at least",
                    dcm_.push_wait_ms() + slot_ms, timing.barrel ? "those of a slot" : "those of a slice",
                    needs_ms, std::ceil(kWaitsMargin * needs_ms)));
  }

  // Describes the limit: "the port's capacity, 12kB under way + 100k of buffer".
  [[nodiscard]] std::string what_port_holds() const {
    const auto buffer = static_cast<std::uint64_t>(network_.port()->buffer_bytes);
    return fmt::format("the port's capacity, {} under way + {} of buffer", kb(safe_.least),
                       config::print_buffer(buffer));
  }
  [[nodiscard]] std::string of_all_dcms() const {
    return members_ > 1 ? fmt::format(" of each of {} DCMs that share a port", members_) : "";
  }
  [[nodiscard]] std::uint64_t proposed_bytes() const { return proposed_window_bytes(safe_, members_); }

  void check_shaper() {
    using Dcm = v1::DcmSettings;
    const Dcm& dcm = dcm_;
    switch (dcm.shaper()) {
      case Dcm::SHAPER_BYTE_CREDITS:
      case Dcm::SHAPER_DIATCP:
        return check_window("dcm.window_bytes", static_cast<double>(dcm.window_bytes()),
                            kb(static_cast<double>(dcm.window_bytes())), std::to_string(proposed_bytes()));
      case Dcm::SHAPER_FRAGMENT_CREDITS:
        return check_quota();
      case Dcm::SHAPER_NONE:
        return check_no_shaper();
      case Dcm::SHAPER_PACED:
        return check_pace();
      default:  // a shaper that tunes itself
        return;
    }
  }

  // Checks a window of `bytes` in flight per DCM; `shown` is its text in messages.
  void check_window(const std::string& key, double bytes, const std::string& shown,
                    const std::string& proposal) {
    const double all = bytes * members_;
    if (safe_.most > 0 && all > safe_.most) {
      warn(key, fmt::format("{}{} is above {}: packets will be lost; set {}", shown, of_all_dcms(),
                            what_port_holds(), proposal));
    } else if (all < safe_.least) {
      warn(key,
           fmt::format("{}{} is below the {} that are under way to the port in {} us: it will idle; set {}",
                       shown, of_all_dcms(), kb(safe_.least), network_settings_.round_trip_us(), proposal));
    }
  }

  void check_quota() {
    if (traffic_.slice.fragments <= 0 || traffic_.slice.bytes <= 0) return;
    const double fragment = traffic_.slice.bytes / traffic_.slice.fragments + wire::kHeaderBytes;
    const std::uint32_t quota = dcm_.window_fragments();
    if (safe_.most > 0 && fragment * members_ > safe_.most) {
      return warn("dcm.window_fragments",
                  fmt::format("one fragment of {}{} is above {}: packets will be lost; set dcm.shaper to "
                              "byte-credits and dcm.window_bytes to {}",
                              kb(fragment), of_all_dcms(), what_port_holds(), proposed_bytes()));
    }
    const double proposed = safe_.most > 0 ? static_cast<double>(proposed_bytes()) / fragment
                                           : std::ceil(safe_.least / members_ / fragment);
    check_window("dcm.window_fragments", fragment * quota,
                 fmt::format("{} fragment{} of {}", quota, quota == 1 ? "" : "s", kb(fragment)),
                 fmt::format("{:.0f}", std::max(1.0, std::floor(proposed))));
  }

  void check_no_shaper() {
    const double all = traffic_.slice.bytes * dcm_.credits() * members_;
    if (safe_.most <= 0 || all <= safe_.most) return;
    warn("dcm.shaper",
         fmt::format("without one {} slices of {}{} may be under way, above {}: packets will be lost; set "
                     "byte-credits and dcm.window_bytes to {}",
                     dcm_.credits(), bytes_text(traffic_.slice.bytes), of_all_dcms(), what_port_holds(),
                     proposed_bytes()));
  }

  void check_pace() {
    const auto pace = static_cast<double>(dcm_.pace_bytes_per_s());
    const double can = shaping::stream_goodput(network_.link(network_.port()->port_bits_per_s), 1, 0);
    if (pace * members_ <= can) return;
    constexpr double kBelow = 0.95;
    warn("dcm.pace_bytes_per_s",
         fmt::format("{}/s{} is above the {}/s that the port can carry: packets will be lost; set {:.0f}",
                     bytes_text(pace), of_all_dcms(), bytes_text(can), std::floor(kBelow * can / members_)));
  }

  // Returns the most bytes that one DCM lets be in flight, headers included; 0: unknown, or its shaper tunes
  // itself. Static congestion windows limit it as well.
  [[nodiscard]] double in_flight_of_dcm() const {
    using Dcm = v1::DcmSettings;
    const Dcm& dcm = dcm_;
    double bytes = 0;
    if (dcm.shaper() == Dcm::SHAPER_BYTE_CREDITS || dcm.shaper() == Dcm::SHAPER_DIATCP)
      bytes = static_cast<double>(dcm.window_bytes());
    if (dcm.shaper() == Dcm::SHAPER_FRAGMENT_CREDITS && traffic_.slice.fragments > 0)
      bytes = dcm.window_fragments() * (traffic_.slice.bytes / traffic_.slice.fragments + wire::kHeaderBytes);
    if (dcm.shaper() == Dcm::SHAPER_NONE) bytes = traffic_.slice.bytes * dcm.credits();
    const double windows = static_windows_of_dcm();
    return windows > 0 && bytes > 0 ? std::min(bytes, windows) : bytes;
  }
  [[nodiscard]] double static_windows_of_dcm() const {
    const double segment =
        network_.mtu - shaping::kIpTcpBytes - (network_.timestamps ? shaping::kTimestampBytes : 0);
    return static_cast<double>(network_.window_segments) * network_.readouts * segment;
  }

  [[nodiscard]] const char* window_key() const {
    using Dcm = v1::DcmSettings;
    switch (dcm_.shaper()) {
      case Dcm::SHAPER_FRAGMENT_CREDITS:
        return "dcm.window_fragments";
      case Dcm::SHAPER_NONE:
        return "dcm.shaper";
      default:
        return "dcm.window_bytes";
    }
  }

  // The sum of all windows through a line between switches (Jereczek 2017, eq. 4.2 and 4.3).
  void check_link(const run_record::FarmLink& link) {
    const auto [dcms, safe] = load_of(network_, link, round_trip_ns());
    if (safe.most <= 0) return;
    const double each = in_flight_of_dcm();
    if (each <= 0 || each * dcms <= safe.most) return;
    warn(window_key(),
         fmt::format("{} of each of {:.4g} DCMs may be in flight through {}, above its {} under way + {} of "
                     "buffer: packets will be lost there; set byte-credits and dcm.window_bytes to {}",
                     kb(each), dcms, link.name, kb(safe.least),
                     config::print_buffer(static_cast<std::uint64_t>(link.buffer_bytes)),
                     proposed_window_bytes(safe, static_cast<std::uint32_t>(std::ceil(dcms)))));
  }

  // Static congestion windows of all connections to the port (eq. 4.5).
  void check_static_window() {
    const double all = static_windows_of_dcm() * members_;
    const double in_flight = in_flight_of_dcm();
    if (all <= 0 || safe_.most <= 0 || all <= safe_.most) return;
    // A shaper that keeps less in flight is the limit, and is checked by itself.
    if (in_flight > 0 && in_flight * members_ <= safe_.most) return;
    const double segments = network_.window_segments * safe_.most / all;
    warn("lab.window_segments",
         fmt::format("{} segments from each of {} readouts{} are {}, above {}: packets will be lost; set {}",
                     network_.window_segments, network_.readouts, of_all_dcms(), kb(all), what_port_holds(),
                     segments >= 1 ? fmt::format("{:.0f}", std::floor(segments))
                                   : std::string("a shaper: one segment is too much")));
  }

  const v1::DcmSettings& dcm_;
  const v1::NetworkSettings& network_settings_;
  config::PushTiming push_timing_;
  bool by_clock_;
  const config::Locations& locations_;
  const run_record::FarmNetwork& network_;
  const ExpectedTraffic& traffic_;
  shaping::SafeWindow safe_;
  std::uint32_t members_ = 1;
  config::Problems problems_;
};

}  // namespace

std::optional<shaping::SafeWindow> safe_window_of(const run_record::FarmNetwork& network,
                                                  DurationNs round_trip_ns) {
  const run_record::FarmHost* port = network.port();
  if (port == nullptr) return std::nullopt;
  shaping::SafeWindow safe =
      shaping::safe_window(network.link(port->port_bits_per_s), round_trip_ns, port->buffer_bytes);
  if (port->buffer_bytes <= 0) safe.most = 0;
  return safe;
}

LinkLoad load_of(const run_record::FarmNetwork& network, const run_record::FarmLink& link,
                 DurationNs round_trip_ns) {
  LinkLoad load;
  for (std::size_t h = 0; h < network.hosts.size(); ++h)
    load.dcms += network.hosts[h].dcms * link.data_parts[h];
  if (link.bits_per_s <= 0) return load;
  load.safe = shaping::safe_window(network.link(link.bits_per_s), round_trip_ns, link.buffer_bytes);
  if (link.buffer_bytes <= 0) load.safe.most = 0;
  return load;
}

std::uint64_t proposed_window_bytes(const shaping::SafeWindow& safe, std::uint32_t members) {
  const double all = safe.most > 0 ? std::max(safe.least, safe.most * kPartOfMost) : 2 * safe.least;
  const double each = all / std::max(1U, members) / kBytesPerKb;
  return static_cast<std::uint64_t>(std::max(1.0, std::floor(each)) * kBytesPerKb);
}

config::Problems check_network(const config::PlannedFarm& planned, const config::Locations& locations,
                               const run_record::FarmNetwork& network, const ExpectedTraffic& traffic) {
  return NetworkCheck(planned, locations, network, traffic).run();
}

}  // namespace weir::run
