#include "sim_front_ends.hpp"

#include <weir/base/assert.hpp>
#include <weir/source.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

namespace weir::sim {
namespace {

constexpr UtcNs kBeginUtc = 1'700'000'000 * kSecond;  // of the simulated network
constexpr DurationNs kLead = 20 * kMillisecond;
constexpr std::size_t kBytesMax = 300;

SimFrontEnds* current = nullptr;

class FrontEndSource : public AsyncSource {
 public:
  explicit FrontEndSource(SourceSetup& setup) : AsyncSource(setup), farm_(SimFrontEnds::get()) {
    for (const std::uint32_t source : source_ids()) channels_.push_back({source, 0, {}, 0});
  }

  void begin_run(const weir_source_run&) override {
    began_ = farm_.now();
    for (Channel& channel : channels_) {
      farm_.begin(channel.source);
      channel.next = plan().kind == FrontEnds::trigger ? 0 : first_on_its_way(began_);
      channel.waiting.clear();
      channel.passed = began_ - plan().kProgressLag;
    }
  }
  // Front-ends receive their triggers by lines of their own: data of slices that are announced late, and all
  // at once, come in the order of the triggers.
  void announced(const weir_source_trigger& trigger) override {
    farm_.remember_trigger(trigger.slice, trigger.time_utc_ns);
    if (plan().kind != FrontEnds::trigger) return;
    const TimeNs happened = std::min(farm_.now(), SimFrontEnds::moment_of(trigger.time_utc_ns));
    for (Channel& channel : channels_) {
      if (plan().is_lost(channel.source, trigger.slice)) continue;
      channel.waiting.push_back({trigger.slice, happened + plan().delay(channel.source, trigger.slice)});
    }
  }
  void poll(std::int64_t) override {
    for (Channel& channel : channels_) {
      if (plan().kind != FrontEnds::trigger) send_events(channel);
      deliver_arrived(channel);
      if (plan().kind == FrontEnds::time) pass(channel);
    }
  }

 private:
  struct Sent {
    std::uint64_t event = 0;
    TimeNs arrives = 0;
  };
  struct Channel {
    std::uint32_t source = 0;
    std::uint64_t next = 0;    // event
    std::deque<Sent> waiting;  // sent, not arrived
    TimeNs passed = 0;
  };

  [[nodiscard]] const FrontEndPlan& plan() const { return farm_.plan(); }
  [[nodiscard]] UtcNs stamp(std::uint32_t source, UtcNs utc) const {
    return utc - (source == plan().shifted_source ? plan().clock_offset_ns : 0);
  }

  [[nodiscard]] std::uint64_t first_on_its_way(TimeNs at) const {
    const TimeNs longest = plan().delay_max_ns + plan().late_ns + plan().period_ns;
    const TimeNs since = at - longest - farm_.moment(0, 0);
    return since <= 0 ? 0 : static_cast<std::uint64_t>(since / plan().period_ns);
  }
  // Events happen and are sent, whether or not a readout is there.
  void send_events(Channel& channel) {
    for (; farm_.moment(channel.source, channel.next) <= farm_.now(); ++channel.next) {
      if (plan().is_lost(channel.source, channel.next)) continue;
      const TimeNs arrives =
          farm_.moment(channel.source, channel.next) + plan().delay(channel.source, channel.next);
      if (arrives > began_) channel.waiting.push_back({channel.next, arrives});
    }
  }
  void deliver_arrived(Channel& channel) {
    const auto begin = std::stable_partition(channel.waiting.begin(), channel.waiting.end(),
                                             [&](const Sent& one) { return one.arrives > farm_.now(); });
    std::vector<Sent> arrived(begin, channel.waiting.end());
    channel.waiting.erase(begin, channel.waiting.end());
    std::stable_sort(arrived.begin(), arrived.end(),
                     [](const Sent& a, const Sent& b) { return a.arrives < b.arrives; });
    for (const Sent& one : arrived) deliver_one(channel.source, one.event);
  }
  void deliver_one(std::uint32_t source, std::uint64_t event) {
    switch (plan().kind) {
      case FrontEnds::number:
        return deliver_number(source, event);
      case FrontEnds::time:
        return deliver_piece(source, event);
      default:
        return deliver_triggered(source, event);
    }
  }
  void deliver_number(std::uint32_t source, std::uint64_t event) {
    const auto number = plan().number(source, event);
    if (!number) return;
    SourceBytes data(farm_.content(source, event));
    if (plan().tolerance_ns > 0)
      data.stamp.time_ns =
          stamp(source, SimFrontEnds::utc(farm_.moment(source, event)) + plan().noise(source, event));
    (void)deliver(source, plan().counter_of(source, *number), data);
  }
  void deliver_triggered(std::uint32_t source, std::uint64_t slice) {
    const bool lags = plan().slip == emulation::SlipKind::lag && plan().slips(source, slice);
    const std::uint64_t event = slice - (lags ? 1 : 0);
    SourceBytes data(farm_.content(source, event));
    data.stamp.counter = plan().counter_of(source, plan().number(source, event).value_or(event));
    if (const UtcNs time = farm_.trigger_time(event); time != 0)
      data.stamp.time_ns = stamp(source, time + plan().noise(source, event));
    (void)deliver(source, slice, data);
  }
  void deliver_piece(std::uint32_t source, std::uint64_t event) {
    SourceBytes data(farm_.content(source, event));
    data.stamp.time_ns = stamp(source, SimFrontEnds::utc(farm_.moment(source, event)));
    data.stamp.duration_ns = plan().length(source, event);
    (void)deliver(source, 0, data);
  }
  // Late data have been passed before they arrive.
  void pass(Channel& channel) {
    const TimeNs upto = farm_.now() - plan().kProgressLag - plan().delay_max_ns;
    if (upto <= channel.passed) return;
    bool gap = false;
    for (std::uint64_t event = channel.next; event-- > 0;) {
      const TimeNs begin = farm_.moment(channel.source, event);
      if (begin + 4 * plan().period_ns < channel.passed) break;
      const TimeNs end = begin + std::max<DurationNs>(1, plan().length(channel.source, event));
      gap = gap || (plan().is_lost(channel.source, event) && begin < upto && end > channel.passed);
    }
    channel.passed = upto;
    (void)time_passed(channel.source, stamp(channel.source, SimFrontEnds::utc(upto)),
                      gap ? std::uint8_t{WEIR_SOURCE_GAP} : std::uint8_t{WEIR_SOURCE_NOT_PRODUCED});
  }

  SimFrontEnds& farm_;
  std::vector<Channel> channels_;
  TimeNs began_ = 0;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weir_source_plugin* weir_sim_source_plugin() {
  static constexpr weir_source_plugin plugin =
      source_detail::SourceBoundary<FrontEndSource>::plugin("front-ends", "1.0", "simulated front-ends");
  return &plugin;
}

SimFrontEnds::SimFrontEnds(simnet::World& world, const FrontEndPlan& plan)
    : world_(world), plan_(plan), content_(RunNumber(1), kBytesMax) {
  WEIR_ASSERT(current == nullptr);
  current = this;
}

SimFrontEnds::~SimFrontEnds() { current = nullptr; }

SimFrontEnds& SimFrontEnds::get() {
  WEIR_ASSERT(current != nullptr);
  return *current;
}

void SimFrontEnds::begin(std::uint32_t source) {
  if (!begun_ && plan_.kind == FrontEnds::number) zero_ = now() + kLead;
  begun_ = true;
  begins_[source].push_back(now());
}

UtcNs SimFrontEnds::utc(TimeNs moment) { return kBeginUtc + moment; }

TimeNs SimFrontEnds::moment_of(UtcNs utc) { return utc - kBeginUtc; }

std::uint64_t SimFrontEnds::happened() const {
  const DurationNs since = now() - moment(0, 0);
  return since <= 0 ? 0 : static_cast<std::uint64_t>(since / plan_.period_ns) + 1;
}

UtcNs SimFrontEnds::trigger_time(std::uint64_t slice) const {
  const auto found = trigger_times_.find(slice);
  return found == trigger_times_.end() ? 0 : found->second;
}

std::uint64_t SimFrontEnds::triggers_between(std::uint64_t slice, TimeNs until) const {
  return static_cast<std::uint64_t>(
      std::count_if(trigger_times_.lower_bound(slice), trigger_times_.end(),
                    [until](const auto& one) { return one.second <= utc(until); }));
}

void SimFrontEnds::note_log(std::string_view line) {
  const std::string name = "source " + std::to_string(plan_.slipped) + " out of step";
  if (plan_.slipped != 0 && named_at_ == 0 && line.find(name) != line.npos) named_at_ = now();
}

ConstBytes SimFrontEnds::content(std::uint32_t source, std::uint64_t event) const {
  return content_.fragment(SourceId(source), SliceId(event),
                           16 + plan_.draw(8, source, event) % (kBytesMax - 16));
}

}  // namespace weir::sim
