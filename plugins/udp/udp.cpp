// Fragments from front-ends that send datagrams: libs/readout/packets/FORMAT.md says how. README.md has the
// parameters and the counters.
#include "socket.hpp"
#include <weir/packets/reassembler.hpp>
#include <weir/source.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using weir::packets::Origin;
using weir::packets::PacketError;
using weir::packets::PacketLoss;
using weir::packets::ReassemblyCounters;
using weir::packets::ReassemblyLimits;
using weir::packets::SourceLosses;

constexpr int kBatchesPerPoll = 8;  // then the readout's clients have their turn
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kLossInterval = 250 * kNsPerMs;
constexpr std::uint32_t kMiB = 1U << 20U;

// A counter of the host's that follows a number of ours.
class Follower {
 public:
  Follower() = default;
  explicit Follower(weir::SourceCounter counter) : counter_(counter) {}
  void follow(std::uint64_t value) {
    if (value > told_) counter_.add(value - told_);
    told_ = value;
  }
  void from_zero() { told_ = 0; }

 private:
  weir::SourceCounter counter_;
  std::uint64_t told_ = 0;
};

class Udp : public weir::AsyncSource, private weir::packets::ReassemblySink {
 public:
  explicit Udp(weir::SourceSetup& setup)
      : AsyncSource(setup),
        limits_(limits(setup)),
        from_(udp::parse_senders(setup.parameter("from", ""))),
        wanted_buffer_(setup.parameter("receive_buffer", 8 * kMiB, 0U, 1U << 30U)),
        socket_(setup.parameter("host", "127.0.0.1"), port_of(setup), static_cast<int>(wanted_buffer_)) {
    for (std::size_t i = 0; i < kNames.size(); ++i) followers_[i] = Follower(counter(kNames[i]));
    for (std::size_t i = 0; i < weir::packets::kPacketErrors; ++i) {
      malformed_names_[i] = "malformed_" + std::string(name(static_cast<PacketError>(i)));
      malformed_[i] = Follower(counter(malformed_names_[i].c_str()));
    }
    for (const std::uint32_t id : source_ids()) ids_.emplace_back(id);
    log(WEIR_SOURCE_LOG_INFO, "takes datagrams at port " + std::to_string(socket_.port()));
    if (static_cast<std::uint32_t>(socket_.receive_buffer()) < wanted_buffer_) {
      log(WEIR_SOURCE_LOG_WARNING, "the kernel grants a receive buffer of " +
                                       std::to_string(socket_.receive_buffer()) + " bytes instead of " +
                                       std::to_string(wanted_buffer_) +
                                       ": bursts will be lost. Raise it: sysctl -w net.core.rmem_max=" +
                                       std::to_string(wanted_buffer_));
    }
  }

  void begin_run(const weir_source_run& run) override {
    reassembler_.emplace(weir::RunNumber(run.run), ids_, limits_);
    for (Follower& follower : followers_) follower.from_zero();
    for (Follower& follower : malformed_) follower.from_zero();
    strangers_ = oversized_ = 0;
    reported_.clear();
    unattributed_ = {};
    events_.clear();
    tell_losses_ns_ = 0;
    socket_.look_at_drops();
    drops_before_ = socket_.kernel_drops();
  }

  void poll(std::int64_t now_ns) override {
    if (!reassembler_) return;
    for (int batch = 0; batch < kBatchesPerPoll; ++batch) {
      const auto datagrams = socket_.receive();
      for (const udp::Socket::Datagram& datagram : datagrams) take(datagram, now_ns);
      if (datagrams.size() < udp::Socket::kBatch) break;
    }
    reassembler_->tick(now_ns, *this);
    if (now_ns >= told_ns_ + 10 * kNsPerMs) {
      told_ns_ = now_ns;
      socket_.look_at_drops();
      tell();
      tell_events();
    }
    if (now_ns >= tell_losses_ns_ + kLossInterval) {
      tell_losses_ns_ = now_ns;
      tell_losses();
    }
  }

  void end_run() override {
    if (!reassembler_) return;
    socket_.look_at_drops();
    reassembler_->drop_held();
    tell();
    tell_events();
    tell_losses();
    reassembler_.reset();
  }

  [[nodiscard]] int fd() const override { return socket_.descriptor(); }

 private:
  static std::uint16_t port_of(weir::SourceSetup& setup) {
    const auto base = setup.parameter("port", std::uint32_t{weir::packets::kPortDefault}, std::uint32_t{0},
                                      std::uint32_t{65535});
    const std::uint64_t port = base == 0 ? 0 : std::uint64_t{base} + setup.readout().index;
    if (port > 65535) {
      throw std::invalid_argument("parameter 'port': " + std::to_string(base) + " leaves none for readout " +
                                  std::to_string(setup.readout().index) + ", which takes port + its number");
    }
    return static_cast<std::uint16_t>(port);
  }
  static ReassemblyLimits limits(weir::SourceSetup& setup) {
    ReassemblyLimits limits;
    limits.fragment_bytes_max = setup.readout().fragment_bytes_max;
    limits.bytes_max = setup.parameter("reassembly_bytes", std::uint64_t{64 * kMiB}, std::uint64_t{65536},
                                       std::uint64_t{1} << 40U);
    limits.slices_max = setup.parameter("reassembly_slices", 64U, 1U, 1U << 20U);
    const auto gap_ms = static_cast<std::uint32_t>(limits.gap_ns / kNsPerMs);
    limits.gap_ns = kNsPerMs * setup.parameter("gap_ms", gap_ms, 1U, 60'000U);
    return limits;
  }

  void take(const udp::Socket::Datagram& datagram, std::int64_t now_ns) {
    if (!from_.empty() && std::find(from_.begin(), from_.end(), datagram.from) == from_.end()) {
      ++strangers_;
    } else if (datagram.cut) {
      ++oversized_;
    } else {
      reassembler_->take(datagram.bytes, origin_of(datagram), now_ns, *this);
    }
  }

  void whole(weir::SourceId source, weir::SliceId slice, weir::packets::FragmentMemory memory,
             bool truncated) override {
    weir::SourceBytes bytes(std::span<const std::byte>(memory.bytes.get(), memory.size));
    bytes.release = [](void* owner) { delete[] static_cast<std::byte*>(owner); };
    bytes.owner = memory.bytes.release();
    if (memory.stamp.has_counter) bytes.stamp.counter = memory.stamp.counter;
    if (memory.stamp.has_time) {
      bytes.stamp.time_ns = memory.stamp.time;
      bytes.stamp.duration_ns = memory.stamp.duration;
    }
    deliver(source.value, slice.value, bytes, truncated ? WEIR_SOURCE_TRUNCATED : WEIR_SOURCE_OK);
  }
  void lost(weir::SourceId source, weir::SliceId slice) override {
    missing(source.value, slice.value, WEIR_SOURCE_GAP);
  }
  void passed(weir::SourceId source, weir::SliceId slice, bool gap) override {
    watermark(source.value, slice.value, gap ? WEIR_SOURCE_GAP : WEIR_SOURCE_NOT_PRODUCED);
  }

  void time_passed(weir::SourceId source, std::int64_t time_ns, bool gap) override {
    AsyncSource::time_passed(source.value, time_ns, gap ? WEIR_SOURCE_GAP : WEIR_SOURCE_NOT_PRODUCED);
  }

  void restarted(weir::SourceId source, const Origin& before, const Origin& after) override {
    note_event({false, before, after, {}}, source);
  }
  void second_sender(weir::SourceId source, const Origin& kept, const Origin& other) override {
    note_event({true, kept, other, {}}, source);
  }

  // Something that happened to some sources at a time: a board has many.
  struct Event {
    bool second = false;  // a second front-end, else a restart
    Origin before;        // or that is kept
    Origin after;         // or that is dropped
    std::vector<std::uint32_t> sources;
  };
  void note_event(Event event, weir::SourceId source) {
    const auto same = [&](const Event& one) {
      return one.second == event.second && one.before == event.before && one.after == event.after;
    };
    auto known = std::find_if(events_.begin(), events_.end(), same);
    if (known == events_.end()) known = events_.insert(events_.end(), std::move(event));
    known->sources.push_back(source.value);
  }
  void tell_events() {
    for (const Event& event : events_) {
      const std::string sources = list_of(event.sources);
      if (event.second && event.before == event.after) {
        fault(to_text(event.before) + " sends " + sources +
              " with two session numbers at a time: one is read, and packets with the other are dropped");
      } else if (event.second) {
        fault("two front-ends send " + sources + ": " + to_text(event.before) + " is read, and what " +
              to_text(event.after) + " sends is dropped; give each front-end source ids of its own");
      } else {
        fault("front-end of " + sources + " restarted: " + to_text(event.before) + " before, " +
              to_text(event.after) + " now");
      }
    }
    events_.clear();
  }
  static std::string list_of(const std::vector<std::uint32_t>& sources) {
    constexpr std::size_t kNamedMax = 8;
    std::string text = sources.size() == 1 ? "source " : "sources ";
    for (std::size_t i = 0; i < std::min(sources.size(), kNamedMax); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(sources[i]);
    if (sources.size() > kNamedMax) text += " and " + std::to_string(sources.size() - kNamedMax) + " more";
    return text;
  }

  // Reports the losses of each source since the last call, and datagrams without a known source.
  void tell_losses() {
    std::size_t place = 0;
    reassembler_->for_each_losses([&](weir::SourceId source, const SourceLosses& now) {
      if (reported_.size() <= place) reported_.emplace_back();
      if (reported_[place].source != source)
        reported_.insert(reported_.begin() + static_cast<std::ptrdiff_t>(place), Reported{source, {}});
      SourceLosses& before = reported_[place++].losses;
      losses(source.value, now.reached - before.reached, 0, "");
      for (std::size_t i = 0; i < now.lost.size(); ++i) {
        if (now.lost[i] > before.lost[i])
          losses(source.value, 0, now.lost[i] - before.lost[i], name(static_cast<PacketLoss>(i)).data());
      }
      before = now;
    });
    const ReassemblyCounters& c = reassembler_->counters();
    const std::uint64_t dropped = socket_.kernel_drops() - drops_before_;
    tell_unattributed(0, c.packets + oversized_ + dropped, "");
    const std::pair<std::uint64_t, const char*> lost[] = {{dropped, "kernel_drops"},
                                                          {c.other_run, "other_run"},
                                                          {c.unknown_source, "unknown_source"},
                                                          {oversized_, "oversized"}};
    std::size_t which = 0;
    for (const auto& [count, reason] : lost) tell_unattributed(++which, count, reason);
    for (std::size_t i = 0; i < weir::packets::kPacketErrors; ++i)
      tell_unattributed(++which, c.malformed[i], malformed_names_[i].c_str());
  }
  void tell_unattributed(std::size_t which, std::uint64_t value, const char* reason) {
    const std::uint64_t step = value - unattributed_[which];
    unattributed_[which] = value;
    if (step > 0) losses(WEIR_SOURCE_ALL, which == 0 ? step : 0, which == 0 ? 0 : step, reason);
  }

  static Origin origin_of(const udp::Socket::Datagram& datagram) {
    Origin origin;
    std::memcpy(origin.address.data(), &datagram.from.address, origin.address.size());
    origin.port = datagram.port;
    origin.ipv6 = datagram.from.family == AF_INET6;
    return origin;
  }

  void tell() {
    const ReassemblyCounters& c = reassembler_->counters();
    const std::uint64_t values[] = {c.packets,
                                    c.bytes,
                                    c.fragments,
                                    c.fragments_lost,
                                    c.marks,
                                    reassembler_->packets_lost(),
                                    socket_.kernel_drops() - drops_before_,
                                    c.reordered,
                                    c.stale,
                                    c.late,
                                    c.other_run,
                                    c.unknown_source,
                                    c.too_large,
                                    c.inconsistent,
                                    c.restarts,
                                    c.unconfirmed,
                                    c.second_sender,
                                    strangers_,
                                    oversized_};
    static_assert(std::size(values) == kNames.size());
    for (std::size_t i = 0; i < followers_.size(); ++i) followers_[i].follow(values[i]);
    for (std::size_t i = 0; i < malformed_.size(); ++i) malformed_[i].follow(c.malformed[i]);
  }

  static constexpr std::array kNames{"packets",       "bytes",        "fragments",    "fragments_lost",
                                     "marks",         "packets_lost", "kernel_drops", "reordered",
                                     "stale",         "late",         "other_run",    "unknown_source",
                                     "too_large",     "inconsistent", "restarts",     "unconfirmed",
                                     "second_sender", "strangers",    "oversized"};
  struct Reported {
    weir::SourceId source;
    SourceLosses losses;
  };

  ReassemblyLimits limits_;
  std::vector<udp::SenderAddress> from_;
  std::uint32_t wanted_buffer_;
  udp::Socket socket_;
  std::vector<weir::SourceId> ids_;
  std::optional<weir::packets::Reassembler> reassembler_;  // of a run
  std::array<Follower, kNames.size()> followers_;
  std::array<std::string, weir::packets::kPacketErrors> malformed_names_;
  std::array<Follower, weir::packets::kPacketErrors> malformed_;
  std::uint64_t strangers_ = 0;
  std::uint64_t oversized_ = 0;
  std::uint64_t drops_before_ = 0;
  std::int64_t told_ns_ = 0;
  std::int64_t tell_losses_ns_ = 0;
  std::vector<Event> events_;
  std::vector<Reported> reported_;  // ascending
  std::array<std::uint64_t, 5 + weir::packets::kPacketErrors> unattributed_{};
};

}  // namespace

WEIR_SOURCE_PLUGIN(Udp, "udp", "1.0", "fragments from front-ends that send datagrams")
