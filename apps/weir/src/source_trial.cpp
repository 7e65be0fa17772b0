#include "source_trial.hpp"

#include "commands.hpp"
#include <weir/base/fragment_status.hpp>
#include <weir/clock/clock.hpp>
#include <weir/config/durations.hpp>
#include <weir/source_host/instance.hpp>
#include <weir/v1/farm.pb.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <poll.h>

namespace weir::commands {
namespace {

constexpr std::size_t kAheadMax = 1024;  // announced slices without an answer
constexpr std::size_t kShown = 8;        // bytes of a fragment in a list

// Counts the deliveries of a source.
class Deliveries final : public source_host::Arrivals {
 public:
  Deliveries(std::ostream& out, bool list) : out_(out), list_(list) {}

  source::Delivery on_fragment(SourceId source, SliceId slice, source::SourceFragment fragment,
                               const Stamp& stamp) override {
    last_ns_ = monotonic_now_ns();
    if (fragment.status == FragmentStatus::missing) {
      ++missing_[fragment.reason];
    } else {
      ++fragments_;
      bytes_ += fragment.bytes.size();
      smallest_ = std::min(smallest_, fragment.bytes.size());
      largest_ = std::max(largest_, fragment.bytes.size());
    }
    if (list_) show(source, slice, fragment, stamp);
    return source::Delivery::taken;
  }
  void on_watermark(SourceId, SliceId, MissingReason) override {}
  void on_fault(std::string_view text) override {
    ++faults_;
    out_ << "fault: " << text << "\n";
  }

  [[nodiscard]] std::uint64_t answers() const {
    std::uint64_t all = fragments_;
    for (const auto& [reason, count] : missing_) all += count;
    return all;
  }
  // The source is ready: the first fragment is due.
  void begin() { last_ns_ = monotonic_now_ns(); }
  [[nodiscard]] TimeNs last_ns() const { return last_ns_; }
  [[nodiscard]] std::uint64_t faults() const { return faults_; }
  void report(std::uint64_t expected, DurationNs took_ns) const {
    const double seconds = std::max(1e-9, static_cast<double>(took_ns) / static_cast<double>(kSecond));
    out_ << fmt::format("{} of {} fragments, {} bytes", fragments_, expected, bytes_);
    if (fragments_ > 0) out_ << fmt::format(", {} to {} bytes each", smallest_, largest_);
    out_ << fmt::format("; {:.0f} fragments/s, {:.1f} MB/s\n", static_cast<double>(fragments_) / seconds,
                        static_cast<double>(bytes_) / seconds / 1e6);
    for (const auto& [reason, count] : missing_)
      out_ << fmt::format("missing ({}): {}\n", name(reason), count);
    if (answers() < expected) out_ << fmt::format("not delivered: {}\n", expected - answers());
  }

 private:
  void show(SourceId source, SliceId slice, const source::SourceFragment& fragment,
            const Stamp& stamp) const {
    out_ << fmt::format("slice {} source {}: ", slice.value, source.value);
    if (fragment.status == FragmentStatus::missing) {
      out_ << "missing (" << name(fragment.reason) << ")\n";
      return;
    }
    out_ << fragment.bytes.size() << " bytes ";
    for (std::size_t i = 0; i < std::min(kShown, fragment.bytes.size()); ++i)
      out_ << fmt::format("{:02x}", static_cast<unsigned>(fragment.bytes[i]));
    if (stamp.has_counter) out_ << " counter " << stamp.counter;
    if (stamp.has_time) out_ << " time " << stamp.time;
    out_ << "\n";
  }

  std::ostream& out_;
  bool list_;
  std::uint64_t fragments_ = 0;
  std::uint64_t bytes_ = 0;
  std::size_t smallest_ = SIZE_MAX;
  std::size_t largest_ = 0;
  std::map<MissingReason, std::uint64_t> missing_;
  std::uint64_t faults_ = 0;
  TimeNs last_ns_ = 0;
};

void make_all(source_host::SourceInstance& instance, const std::vector<SourceId>& sources,
              std::uint64_t slices, Deliveries& deliveries) {
  for (std::uint64_t slice = 0; slice < slices; ++slice) {
    const source::Trigger trigger{SliceId(slice), utc_now_ns(), 0, {}};
    for (const SourceId source : sources) {
      source::SourceFragment fragment = instance.make(source, trigger);
      (void)deliveries.on_fragment(source, trigger.slice, std::move(fragment), instance.made_stamp());
    }
  }
}

// Announces slices, at most kAheadMax ahead, and polls until all fragments are there or none has come for
// long.
void announce_all(source_host::SourceInstance& instance, const SourceTrial& trial, Deliveries& deliveries) {
  const DurationNs patience = config::from_ms(trial.wait_ms);
  std::vector<source::Trigger> triggers;
  std::uint64_t announced = 0;
  const std::uint64_t expected = trial.slices * trial.sources;
  while (deliveries.answers() < expected && monotonic_now_ns() - deliveries.last_ns() < patience) {
    const std::uint64_t upto = std::min(trial.slices, deliveries.answers() / trial.sources + kAheadMax);
    triggers.clear();
    for (; announced < upto; ++announced) triggers.push_back({SliceId(announced), utc_now_ns(), 0, {}});
    instance.announced(triggers);
    instance.poll(monotonic_now_ns());
    if (deliveries.answers() >= expected) return;
    pollfd ready{instance.fd(), POLLIN, 0};
    (void)::poll(&ready, instance.fd() < 0 ? 0 : 1, 1);
  }
}

}  // namespace

int try_source(const SourceTrial& trial, std::ostream& out, std::ostream& err) {
  const v1::SourceSettings& defaults = v1::SourceSettings::default_instance();
  const source_host::HostSettings host{
      .python = trial.python,
      .timeout_ns = config::from_ms(defaults.host().timeout_ms()),
      .start_timeout_ns = config::from_ms(defaults.host().start_timeout_ms()),
      .wait_ns = 0,
      .lane_bytes = defaults.host().lane_bytes(),
      .memory_bytes = defaults.host().memory_bytes()};
  const auto plugin = source_host::SourcePlugin::load(trial.plugin, trial.search_path, host);
  if (!plugin) {
    err << "weir source try: " << plugin.error().text << "\n";
    return kUsage;
  }
  source_host::InstanceConfig config;
  config.parameters = trial.parameters;
  for (std::uint32_t i = 1; i <= trial.sources; ++i) config.sources.emplace_back(i);
  config.readout_name = "readout-0";
  const std::vector<SourceId> sources = config.sources;
  config.log = [&err](std::int32_t, std::string_view text) { err << text << "\n"; };
  Deliveries deliveries(out, trial.list);
  const auto instance = source_host::SourceInstance::create(*plugin, std::move(config), deliveries);
  if (!instance) {
    err << "weir source try: " << instance.error().text << "\n";
    return kUsage;
  }
  if (const auto begun = (*instance)->begin_run(RunNumber(1), SliceId(0)); !begun) {
    err << "weir source try: " << begun.error().text << "\n";
    return kUsage;
  }
  deliveries.begin();
  const TimeNs began_ns = deliveries.last_ns();
  if ((*instance)->makes()) {
    make_all(**instance, sources, trial.slices, deliveries);
  } else {
    announce_all(**instance, trial, deliveries);
  }
  (*instance)->end_run();
  deliveries.report(trial.slices * trial.sources, deliveries.last_ns() - began_ns);
  for (const auto& [name, count] : (*instance)->counters()) {
    if (count > 0) out << "counter " << name << ": " << count << "\n";
  }
  const auto counters = (*instance)->counters();
  const auto failed = [&](const char* name) { return counters.contains(name) && counters.at(name) > 0; };
  if (deliveries.answers() == 0)
    err << fmt::format(
        "weir source try: nothing was delivered in {} ms: {}\n", trial.wait_ms,
        "let the source deliver fragments, or report them as missing; wait longer with --wait-ms");
  const bool fine = deliveries.answers() > 0 && deliveries.faults() == 0 && !failed("exception") &&
                    !failed("too_long") && !failed("make_failed") && !failed("refused");
  (*instance)->detach();
  return fine ? 0 : 1;
}

}  // namespace weir::commands
