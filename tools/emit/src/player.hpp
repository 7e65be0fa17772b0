#pragma once

#include <weir/packets/packet.hpp>
#include <weir/source/source.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace weir::emit {

struct PlayerSettings {
  RunNumber run;
  std::uint32_t session = 0;  // of this start of the front-ends; 0: not in the packets
  SliceId first;
  std::uint64_t slices = 0;         // 0: no end
  double rate_hz = 100;             // 0: as fast as it is asked
  DurationNs slice_ns = 0;          // length of a time slice, for the content
  std::size_t packet_bytes = 1472;  // header and payload
  std::uint64_t drop_every = 0;     // 0: never
  bool stamps = false;              // counters and times are sent
  // For build.by: time. After each slice's data, which are one piece, a source sends the time of the next one
  // as its progress; pieces and marks are numbered together. Requires: stamps, and a rate above 0.
  bool progress = false;
};

// One packet to be sent.
struct OutgoingPacket {
  std::array<std::byte, packets::kStampedHeaderBytes> header_room;
  std::size_t header_bytes = 0;
  ConstBytes payload;
  std::shared_ptr<const void> owner;  // of the payload
  [[nodiscard]] ConstBytes header() const { return ConstBytes(header_room).first(header_bytes); }
  std::uint32_t target = 0;
  bool withheld = false;         // counted as sent but dropped, to test its handling
  std::optional<SliceId> ended;  // the last packet of this slice
};

struct PlayerCounters {
  std::uint64_t slices = 0;  // begun
  std::uint64_t fragments = 0;
  std::uint64_t absent = 0;  // sources without data for a slice
  std::uint64_t bytes = 0;   // payload
  std::uint64_t packets = 0;
  std::uint64_t withheld = 0;
};

// Plays front-ends: the packets of slice after slice, spread evenly over each slice's time. A source's last
// packet of a slice closes it. One thread; no clock.
class Player {
 public:
  struct Played {
    std::unique_ptr<source::FragmentSource> source;
    std::uint32_t target = 0;
  };
  // `sources`: in the order of sending. Requires: the sources' run has begun.
  Player(const PlayerSettings& settings, std::vector<Played> sources);

  void start(TimeNs now, UtcNs utc);
  // Returns the next packet if it is due; false: none is, or there are no more.
  [[nodiscard]] bool next(TimeNs now, OutgoingPacket& packet);
  // Returns the time of the next packet.
  [[nodiscard]] TimeNs next_due() const;
  // True if all slices have been played.
  [[nodiscard]] bool done() const {
    return settings_.slices > 0 && played_ >= settings_.slices && cursor_ == packets_;
  }
  // One more mark for each source, for the end: the last slice is closed. Not to be called before a slice is
  // played.
  [[nodiscard]] std::vector<OutgoingPacket> last_marks();
  [[nodiscard]] source::Trigger trigger_of(SliceId slice) const;
  [[nodiscard]] const PlayerCounters& counters() const { return counters_; }

 private:
  void begin_slice();
  // Returns the number of the current piece; its mark has the next one.
  [[nodiscard]] SliceId number() const;
  [[nodiscard]] packets::Packet mark() const;
  [[nodiscard]] std::size_t payload_max() const;
  void encode(packets::Packet packet, std::uint32_t column, OutgoingPacket& out);

  PlayerSettings settings_;
  std::vector<Played> sources_;
  std::vector<std::uint32_t> sequences_;
  std::vector<source::SourceFragment> fragments_;  // of the current slice
  std::vector<Stamp> stamps_;                      // of these, if they are sent
  std::uint64_t played_ = 0;                       // slices begun
  std::uint64_t packets_ = 0;                      // of this slice
  std::uint64_t cursor_ = 0;                       // of these, sent
  std::uint32_t column_ = 0;
  std::uint32_t offset_ = 0;
  bool marks_ = false;  // the source's data are sent; its progress is next
  TimeNs start_ = 0;
  UtcNs start_utc_ = 0;
  PlayerCounters counters_;
};

}  // namespace weir::emit
