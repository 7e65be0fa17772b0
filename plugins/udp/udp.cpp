// Fragments from front-ends that send datagrams: libs/packets/FORMAT.md says how. README.md has the
// parameters and the counters.
#include "socket.hpp"
#include <weir/packets/reassembler.hpp>
#include <weir/source.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace {

using weir::packets::PacketError;
using weir::packets::ReassemblyCounters;
using weir::packets::ReassemblyLimits;

constexpr int kBatchesPerPoll = 8;  // then the readout's clients have their turn
constexpr std::int64_t kNsPerMs = 1'000'000;
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
      const std::string text = "malformed_" + std::string(name(static_cast<PacketError>(i)));
      malformed_[i] = Follower(counter(text.c_str()));
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
    }
  }

  void end_run() override {
    if (!reassembler_) return;
    socket_.look_at_drops();
    tell();
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
    limits.gap_ns = kNsPerMs * setup.parameter("gap_ms", 20U, 1U, 60'000U);
    return limits;
  }

  void take(const udp::Socket::Datagram& datagram, std::int64_t now_ns) {
    if (!from_.empty() && std::find(from_.begin(), from_.end(), datagram.from) == from_.end()) {
      ++strangers_;
    } else if (datagram.cut) {
      ++oversized_;
    } else {
      reassembler_->take(datagram.bytes, now_ns, *this);
    }
  }

  void whole(weir::SourceId source, weir::SliceId slice, weir::packets::FragmentMemory memory,
             bool truncated) override {
    weir::SourceBytes bytes(std::span<const std::byte>(memory.bytes.get(), memory.size));
    bytes.release = [](void* owner) { delete[] static_cast<std::byte*>(owner); };
    bytes.owner = memory.bytes.release();
    deliver(source.value, slice.value, bytes, truncated ? WEIR_SOURCE_TRUNCATED : WEIR_SOURCE_OK);
  }
  void lost(weir::SourceId source, weir::SliceId slice) override {
    missing(source.value, slice.value, WEIR_SOURCE_GAP);
  }
  void passed(weir::SourceId source, weir::SliceId slice, bool gap) override {
    watermark(source.value, slice.value, gap ? WEIR_SOURCE_GAP : WEIR_SOURCE_NOT_PRODUCED);
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
                                    c.resets,
                                    strangers_,
                                    oversized_};
    static_assert(std::size(values) == kNames.size());
    for (std::size_t i = 0; i < followers_.size(); ++i) followers_[i].follow(values[i]);
    for (std::size_t i = 0; i < malformed_.size(); ++i) malformed_[i].follow(c.malformed[i]);
  }

  static constexpr std::array kNames{
      "packets",      "bytes",        "fragments", "fragments_lost", "marks",     "packets_lost",
      "kernel_drops", "reordered",    "stale",     "late",           "other_run", "unknown_source",
      "too_large",    "inconsistent", "resets",    "strangers",      "oversized"};

  ReassemblyLimits limits_;
  std::vector<udp::Sender> from_;
  std::uint32_t wanted_buffer_;
  udp::Socket socket_;
  std::vector<weir::SourceId> ids_;
  std::optional<weir::packets::Reassembler> reassembler_;  // in a run
  std::array<Follower, kNames.size()> followers_;
  std::array<Follower, weir::packets::kPacketErrors> malformed_;
  std::uint64_t strangers_ = 0;
  std::uint64_t oversized_ = 0;
  std::uint64_t drops_before_ = 0;
  std::int64_t told_ns_ = 0;
};

}  // namespace

WEIR_SOURCE_PLUGIN(Udp, "udp", "1.0", "fragments from front-ends that send datagrams")
