#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/packets/packet.hpp>
#include <weir/packets/sequence.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::packets {

// The sender's address of a datagram.
struct Origin {
  std::array<std::uint8_t, 16> address{};  // an IPv4 address in the first four
  std::uint16_t port = 0;
  bool ipv6 = false;
  bool operator==(const Origin&) const = default;
};
// Returns "10.0.0.7:5000", "[fe80:0:0:0:0:0:0:1]:5000".
[[nodiscard]] std::string to_text(const Origin& origin);

// Separates the packets of one source's front-end from those of its earlier lives (a life lasts from one
// start of the front-end to the next), and from those of a second front-end with the same id.
//
// A life is known by its session number. Two packets in a row with an unknown one begin a new life; a single
// one may be damaged. A life of one packet gives way to two of another. A session number that changes while
// the count goes on begins none. Packets without a session number are judged by address and counter. A packet
// that the current life cannot have sent (its number came from another address before, or is far from the
// others, or is a repetition with a later slice than any) makes its sender a candidate. kConfirm packets of a
// candidate in ascending order begin a new life if no packet of the old one came meanwhile, and if the
// candidate's counter began below Sequence::kStartMax or the old life has been silent for kSilence. If
// packets of the old life came meanwhile, or if an earlier life continues its count while the new one sends,
// two front-ends have one id: one is kept, and packets of the other are excluded until the first has been
// silent for kSilence.
//
// A delayed packet of an earlier life therefore begins no new one. Not thread-safe; uses no clock.
class SenderTracker {
 public:
  enum class Standing : std::uint8_t {
    taken,        // of the current front-end: `arrival` says how it fits
    restarted,    // begins a new life: to be taken once more, after the packets of it that were held
    unconfirmed,  // of a candidate
    former,       // delayed, of an earlier life
    second,       // of a second front-end with this id
    new_second    // the same, and the first one recognised as such
  };
  struct Verdict {
    Standing standing = Standing::taken;
    Sequence::Arrival arrival = Sequence::Arrival::next;
    bool hold = false;    // unconfirmed, with an unknown session number: to be kept for its life's begin
    bool of_one = false;  // restarted: the life that ends was one packet, which may have been damaged
  };
  static constexpr int kConfirm = 8;
  static constexpr int kConfirmSession = 2;  // packets with an unknown session number
  static constexpr int kMisfitsMax = 2;      // then a candidate begins anew
  static constexpr std::uint64_t kForgetAfter =
      1024;  // packets of the current life without one of a candidate
  static constexpr DurationNs kSilence = kSecond;
  static constexpr std::int64_t kNear = 1024;  // a number this close to the next may come from any address
  static constexpr std::size_t kOriginsMax =
      8;  // of a life, of earlier lives, excluded; the oldest are dropped

  [[nodiscard]] Verdict take(const Packet& packet, const Origin& from, TimeNs now);

  // Return the address of the last accepted packet, and the one before the last restart.
  [[nodiscard]] const Origin& current() const { return last_from_; }
  [[nodiscard]] const Origin& previous() const { return previous_; }
  [[nodiscard]] std::uint32_t session() const { return session_; }
  [[nodiscard]] Sequence& sequence() { return sequence_; }
  [[nodiscard]] const Sequence& sequence() const { return sequence_; }

 private:
  struct Member {
    Origin from;
    std::uint32_t highest = 0;  // sequence number
  };
  struct Sender {
    Origin from;
    std::uint32_t session = 0;
    bool operator==(const Sender&) const = default;
  };
  struct Former {
    Sender sender;
    std::uint32_t highest = 0;
  };
  struct Candidate {
    Sender sender;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t before = 0;        // that one
    int run = 0;                     // packets in ascending order
    int misfits = 0;                 // others since the last of these
    int in_a_row = 0;                // of these, since the last packet of the current life
    std::uint64_t taken_before = 0;  // packets of the current life, before its first
    std::uint64_t taken_last = 0;    // and before its last
  };

  [[nodiscard]] Verdict take_of_session(const Packet& packet, const Sender& sender, TimeNs now);
  [[nodiscard]] Verdict watch(const Packet& packet, const Sender& sender, TimeNs now);
  [[nodiscard]] Verdict watch_session(Candidate& candidate, const Packet& packet, const Sender& sender);
  [[nodiscard]] static bool ascends(Candidate& candidate, std::uint32_t sequence);
  [[nodiscard]] Verdict exclude(const Sender& sender);
  [[nodiscard]] Verdict restart(const Sender& sender, std::optional<std::uint32_t> first);
  [[nodiscard]] bool may_continue(const Member* member, const Sender& sender, std::uint32_t sequence) const;
  [[nodiscard]] bool belongs_elsewhere(const Member* member, const Packet& packet,
                                       Sequence::Arrival arrival) const;
  [[nodiscard]] bool continues_count(const Packet& packet, const Origin& from);
  void note_session(std::uint32_t session);
  void note_slice(SliceId slice);
  [[nodiscard]] bool is_later_than_all(SliceId slice) const { return slice > highest_ && slice != latest_; }
  void bury_life();
  void note_taken(Member* member, const Packet& packet, const Sender& sender, TimeNs now);
  [[nodiscard]] Member* find_member(const Origin& from);
  [[nodiscard]] const Candidate* find_candidate(const Sender& sender) const;
  [[nodiscard]] bool is_unknown_session(std::uint32_t session) const;
  [[nodiscard]] const Former* find_former(const Sender& sender) const;
  [[nodiscard]] static bool goes_on(const Former* former, std::uint32_t sequence);

  Sequence sequence_;
  bool begun_ = false;
  std::uint32_t session_ = 0;
  std::vector<Member> members_;   // addresses from which this life has sent
  std::vector<Former> formers_;   // of earlier lives
  std::vector<Sender> excluded_;  // second front-ends
  std::vector<Candidate> candidates_;
  std::optional<std::uint32_t> renumbered_;  // session number of the last packet, if not session_
  SliceId highest_;  // slice of any packet of this life but the one with latest_, which may be damaged
  SliceId latest_;
  int below_latest_ = 0;  // packets since that one
  Origin last_from_;
  Origin previous_;
  TimeNs last_taken_ = 0;
  std::uint64_t taken_ = 0;    // packets whose number is certain
  std::uint64_t in_life_ = 0;  // packets taken
};

}  // namespace weir::packets
