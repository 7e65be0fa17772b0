#pragma once

#include <weir/base/time.hpp>
#include <weir/packets/packet.hpp>
#include <weir/packets/sender_tracker.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::packets {

struct ReassemblyLimits {
  std::uint32_t fragment_bytes_max = 16U << 20U;  // packets of larger fragments are ignored
  std::uint64_t bytes_max = 64ULL << 20U;         // of incomplete fragments, of all sources
  std::size_t slices_max = 64;  // incomplete fragments per source; beyond, the oldest is given up
  // A fragment without a further part for this time is given up, and so is a packet still missing this long
  // after its source was done with a slice.
  DurationNs gap_ns = 100 * kMillisecond;
};

// Since the start.
struct ReassemblyCounters {
  std::uint64_t packets = 0;  // received, with any result
  std::uint64_t bytes = 0;    // payload of complete fragments
  std::uint64_t fragments = 0;
  std::uint64_t fragments_lost = 0;                      // incomplete ones that were given up
  std::uint64_t marks = 0;                               // packets that are marks
  std::array<std::uint64_t, kPacketErrors> malformed{};  // by PacketError
  std::uint64_t other_run = 0;                           // of another run
  std::uint64_t unknown_source = 0;                      //
  std::uint64_t too_large = 0;                           // of a fragment above fragment_bytes_max
  std::uint64_t inconsistent = 0;                        // overlaps, or another length than before
  std::uint64_t late = 0;                                // of a slice that its source has completed
  std::uint64_t stale = 0;                               // repeated, given up, or of an earlier life
  std::uint64_t reordered = 0;                           //
  std::uint64_t restarts = 0;                            // front-ends that started again
  std::uint64_t unconfirmed = 0;                         // possibly of a new life
  std::uint64_t second_sender = 0;                       // of a second front-end with the same source id
};

// Why a packet that reached its source was dropped, although it was not a repetition.
enum class PacketLoss : std::uint8_t { stale, late, inconsistent, too_large, unconfirmed, second_sender };
constexpr std::size_t kPacketLosses = 6;
[[nodiscard]] constexpr std::string_view name(PacketLoss loss) {
  constexpr std::string_view kNames[] = {"stale",     "late",        "inconsistent",
                                         "too_large", "unconfirmed", "second_sender"};
  return kNames[static_cast<std::size_t>(loss)];
}
// Losses of one source, since the start.
struct SourceLosses {
  std::uint64_t reached = 0;  // packets of this run that name it
  std::array<std::uint64_t, kPacketLosses> lost{};
};

// The memory of one fragment, handed out as a whole.
struct FragmentMemory {
  std::unique_ptr<std::byte[]> bytes;
  std::uint32_t size = 0;
  Stamp stamp;  // of the packet that arrived first of those that have one
};

// Receives the results of reassembly. Called from inside take() and tick().
class ReassemblySink {
 public:
  virtual ~ReassemblySink() = default;
  virtual void whole(SourceId source, SliceId slice, FragmentMemory memory, bool truncated) = 0;
  // A part of the fragment arrived, but the rest never did.
  virtual void lost(SourceId source, SliceId slice) = 0;
  // The source is done with this slice and all earlier ones. `gap`: packets were lost in between, so a
  // missing fragment may have been sent.
  virtual void passed(SourceId source, SliceId slice, bool gap) = 0;
  // Follows passed() if the mark has a time: the source sends nothing more that begins before.
  virtual void time_passed(SourceId /*source*/, UtcNs /*time*/, bool /*gap*/) {}
  // The source's front-end has restarted: it sent from `before`, and now sends from `after`.
  virtual void restarted(SourceId source, const Origin& before, const Origin& after) = 0;
  // A second front-end sends this source's id: packets from `kept` are read, those from `other` dropped.
  virtual void second_sender(SourceId source, const Origin& kept, const Origin& other) = 0;
};

// Builds fragments from packets of some sources, in any order. A fragment is passed on as soon as it is
// complete; losses are reported once their time is over. Memory is bounded for any input. Not thread-safe;
// uses no clock.
class Reassembler {
 public:
  // Requires: `sources` ascend.
  Reassembler(RunNumber run, std::span<const SourceId> sources, const ReassemblyLimits& limits);

  void take(ConstBytes datagram, const Origin& from, TimeNs now, ReassemblySink& sink);
  // Gives up overdue fragments and packets. To be called several times per gap_ns.
  void tick(TimeNs now, ReassemblySink& sink);
  // Drops the packets that still wait for a confirmation, and counts them. To be called at the run's end.
  void drop_held();

  [[nodiscard]] const ReassemblyCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t packets_lost() const;  // missing in the sequence and given up
  [[nodiscard]] std::uint64_t bytes_begun() const { return bytes_begun_; }
  // Calls visit(source, losses) for each source that packets have reached.
  template <class Visit>
  void for_each_losses(Visit&& visit) const {
    for (const Source& source : sources_) {
      if (source.losses.reached > 0) visit(source.id, source.losses);
    }
  }

 private:
  struct Begun {
    FragmentMemory memory;
    std::vector<std::pair<std::uint32_t, std::uint32_t>>
        parts;  // received ranges: from, to; ascending, not touching
    bool truncated = false;
    TimeNs last = 0;  // time of the last packet
  };
  struct Mark {
    SliceId slice;
    std::uint64_t place = 0;  // in the sequence, behind its packet
    TimeNs until = 0;
    std::optional<std::uint64_t> confirmed_by;  // the place of a later packet that agrees with it
    std::optional<UtcNs> time;                  // the source's progress
  };
  // A packet with an unknown session number: of a new life, or damaged.
  struct Held {
    std::vector<std::byte> datagram;
    std::uint32_t session = 0;
    Origin from;
    std::uint64_t taken = 0;  // packets of the current life taken before
  };
  struct Source {
    SourceId id;
    SenderTracker sender;
    SourceLosses losses;
    std::uint32_t stale_run = 0;  // repeated packets since the last other one
    std::map<SliceId, Begun> begun;
    std::deque<Mark> marks;       // waiting for missing packets
    std::vector<Mark> doubted;    // skip slices or packets, and wait for later packets that agree
    std::uint64_t last_mark = 0;  // place of the last mark that was not doubted
    std::vector<Held> held;       // of one session
    std::uint64_t taken = 0;
    std::optional<SliceId> passed;
  };
  static constexpr std::size_t kPartsMax = 1024;  // of one fragment; a packet that would need more is ignored
  static constexpr std::size_t kMarksMax = 1024;  // of one source; beyond, the newest is moved up
  static constexpr std::size_t kDoubtedMax = 16;  // likewise; beyond, the oldest is forgotten
  static constexpr std::size_t kHeldMax = 8;      // packets of one source; beyond, the oldest is dropped
  static constexpr std::uint64_t kHeldShare = 16;  // part of bytes_max that packets may hold

  // Consecutive repeated packets that are taken for echoes of the network; further ones count as lost.
  static constexpr std::uint32_t kStaleRunMax = 64;

  [[nodiscard]] Source* find(SourceId id);
  void take_packet(Source& source, const Packet& packet, ConstBytes datagram, const Origin& from, TimeNs now,
                   ReassemblySink& sink);
  [[nodiscard]] bool admit(Source& source, const SenderTracker::Verdict& verdict, ConstBytes datagram,
                           const Packet& packet, const Origin& from, ReassemblySink& sink);
  void hold(Source& source, ConstBytes datagram, const Packet& packet, const Origin& from);
  void drop_held(Source& source, std::size_t count);
  void replay_held(Source& source, TimeNs now, ReassemblySink& sink);
  void begin_life(Source& source, TimeNs now, ReassemblySink& sink);
  void count_stale(Source& source, bool seen);
  void count_loss(Source& source, PacketLoss loss, std::uint64_t& counter);
  void take_data(Source& source, const Packet& packet, TimeNs now, ReassemblySink& sink);
  void take_mark(Source& source, const Mark& mark);
  void weigh_doubted(Source& source, SliceId slice, std::uint64_t place, bool ends, TimeNs now);
  void promote_doubted(Source& source, TimeNs now);
  [[nodiscard]] static bool skips_slices(const Source& source, SliceId slice);
  [[nodiscard]] static bool is_covered(const Source& source, SliceId slice);
  void settle_marks(Source& source, TimeNs now, ReassemblySink& sink);
  [[nodiscard]] bool add_part(Begun& begun, const Packet& packet);
  void give_up(Source& source, std::map<SliceId, Begun>::iterator begun, ReassemblySink& sink);
  [[nodiscard]] bool make_room(Source& source, std::uint32_t size, ReassemblySink& sink);

  RunNumber run_;
  ReassemblyLimits limits_;
  std::vector<Source> sources_;  // ascending
  std::uint64_t bytes_begun_ = 0;
  std::uint64_t bytes_held_ = 0;
  ReassemblyCounters counters_;
};

}  // namespace weir::packets
