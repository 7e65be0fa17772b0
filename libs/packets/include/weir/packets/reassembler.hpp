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
  std::uint32_t fragment_bytes_max = 16U << 20U;  // a packet of a larger one is ignored
  std::uint64_t bytes_max = 64ULL << 20U;         // of fragments begun, of all sources
  std::size_t slices_max = 64;  // fragments begun per source; the oldest is given up for a further one
  // A fragment of which nothing more came for so long, and a packet that is missing for so long when its
  // source is done with a slice, are given up.
  DurationNs gap_ns = 20 * kMillisecond;
};

// Since the start.
struct ReassemblyCounters {
  std::uint64_t packets = 0;  // taken in, whatever became of them
  std::uint64_t bytes = 0;    // payload of fragments that are whole
  std::uint64_t fragments = 0;
  std::uint64_t fragments_lost = 0;                      // begun and given up
  std::uint64_t marks = 0;                               // packets that are marks
  std::array<std::uint64_t, kPacketErrors> malformed{};  // by PacketError
  std::uint64_t other_run = 0;                           // of another run
  std::uint64_t unknown_source = 0;                      //
  std::uint64_t too_large = 0;                           // of a fragment above fragment_bytes_max
  std::uint64_t inconsistent = 0;                        // overlaps, or another length than before
  std::uint64_t late = 0;                                // of a slice that its source has passed
  std::uint64_t stale = 0;                               // come before, given up, or of an earlier life
  std::uint64_t reordered = 0;                           //
  std::uint64_t restarts = 0;                            // lives of front-ends that began after another
  std::uint64_t unconfirmed = 0;                         // perhaps of a new life
  std::uint64_t second_sender = 0;                       // of a second front-end with the source's id
};

// Why a packet that reached its source was thrown away, though nothing like it came before.
enum class PacketLoss : std::uint8_t { stale, late, inconsistent, too_large, unconfirmed, second_sender };
constexpr std::size_t kPacketLosses = 6;
[[nodiscard]] constexpr std::string_view name(PacketLoss loss) {
  constexpr std::string_view kNames[] = {"stale",     "late",        "inconsistent",
                                         "too_large", "unconfirmed", "second_sender"};
  return kNames[static_cast<std::size_t>(loss)];
}
// Of one source, since the start.
struct SourceLosses {
  std::uint64_t reached = 0;  // packets of this run that name it
  std::array<std::uint64_t, kPacketLosses> lost{};
};

// One fragment's memory: handed out whole.
struct FragmentMemory {
  std::unique_ptr<std::byte[]> bytes;
  std::uint32_t size = 0;
};

// What reassembly finds out. Called from inside take() and tick().
class ReassemblySink {
 public:
  virtual ~ReassemblySink() = default;
  virtual void whole(SourceId source, SliceId slice, FragmentMemory memory, bool truncated) = 0;
  // A part of it came, and the rest never did.
  virtual void lost(SourceId source, SliceId slice) = 0;
  // The source is done with this slice and all before. `gap`: packets were lost meanwhile, so that what is
  // not there may have been sent.
  virtual void passed(SourceId source, SliceId slice, bool gap) = 0;
  // Its front-end began again: it sent from `before`, and sends from `after`.
  virtual void restarted(SourceId source, const Origin& before, const Origin& after) = 0;
  // A second front-end sends this source's id: the packets from `kept` are read, those from `other` dropped.
  virtual void second_sender(SourceId source, const Origin& kept, const Origin& other) = 0;
};

// Packets of some sources in, in whatever order they come; fragments out, each at once when it is whole. What
// is lost is told once its time is over. Bounded whatever comes in. One thread; no clock.
class Reassembler {
 public:
  // `sources` ascending.
  Reassembler(RunNumber run, std::span<const SourceId> sources, const ReassemblyLimits& limits);

  void take(ConstBytes datagram, const Origin& from, TimeNs now, ReassemblySink& sink);
  // Gives up what is due. To be called some times per gap_ns.
  void tick(TimeNs now, ReassemblySink& sink);

  [[nodiscard]] const ReassemblyCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t packets_lost() const;  // never came, by their sequence
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
    std::vector<std::pair<std::uint32_t, std::uint32_t>> parts;  // what is there: from, to; ascending, apart
    bool truncated = false;
    TimeNs last = 0;  // packet
  };
  struct Mark {
    SliceId slice;
    std::uint64_t place = 0;  // in the sequence
    TimeNs until = 0;
  };
  struct Source {
    SourceId id;
    SenderTracker sender;
    SourceLosses losses;
    std::uint32_t stale_run = 0;  // repeated packets since the last other one
    std::map<SliceId, Begun> begun;
    std::deque<Mark> marks;  // that wait for missing packets
    std::optional<SliceId> passed;
  };
  static constexpr std::size_t kPartsMax = 1024;  // of one fragment; a packet that would make more is ignored
  static constexpr std::size_t kMarksMax = 1024;  // of one source; beyond, the newest is moved up

  // Repeated packets in a row that pass for echoes of the network; further ones count as lost.
  static constexpr std::uint32_t kStaleRunMax = 64;

  [[nodiscard]] Source* find(SourceId id);
  [[nodiscard]] bool admit(Source& source, const Packet& packet, const Origin& from, TimeNs now,
                           ReassemblySink& sink);
  void begin_life(Source& source, TimeNs now, ReassemblySink& sink);
  void count_stale(Source& source, bool seen);
  void count_loss(Source& source, PacketLoss loss, std::uint64_t& counter);
  void take_data(Source& source, const Packet& packet, TimeNs now, ReassemblySink& sink);
  void take_mark(Source& source, SliceId slice, std::uint64_t place, TimeNs now, ReassemblySink& sink);
  void settle_marks(Source& source, TimeNs now, ReassemblySink& sink);
  [[nodiscard]] bool add_part(Begun& begun, const Packet& packet);
  void give_up(Source& source, std::map<SliceId, Begun>::iterator begun, ReassemblySink& sink);
  void make_room(Source& source, std::uint32_t size, ReassemblySink& sink);

  RunNumber run_;
  ReassemblyLimits limits_;
  std::vector<Source> sources_;  // ascending
  std::uint64_t bytes_begun_ = 0;
  ReassemblyCounters counters_;
};

}  // namespace weir::packets
