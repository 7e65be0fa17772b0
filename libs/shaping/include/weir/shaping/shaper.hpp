#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

namespace weir::shaping {

constexpr DurationNs kLookEvery = 20 * kMillisecond;
constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();

// One request to one readout.
struct Demand {
  std::uint32_t readout = 0;    // index
  std::uint32_t fragments = 0;  // each is answered once
  std::uint64_t bytes = 0;      // expected, frame headers included; 0: not known
};

// What a request's answer told about the way to the readout and back.
struct Response {
  std::uint32_t readout = 0;
  DurationNs time_ns = 0;   // from the request to the last byte of its answer
  std::uint64_t bytes = 0;  // of the answer as it came, headers included; not what was expected
  // Of that time: for how long the two hosts had it and not the network, because a process waited for its
  // turn. 0 where they do not say.
  DurationNs host_ns = 0;
  // What the readout owed when this was asked of it, and these bytes: its own uplink sends one after another.
  std::uint64_t owed = 0;
};

enum class Credit : std::uint8_t {
  granted,       // the request goes now, and its credit is taken
  readout_full,  // not to this readout, perhaps to another one
  full,          // nothing more goes now
};

// A DCM's part of the port that it receives through, as the supervisor hands it out. The window belongs to
// the port: DCMs behind one port divide it among them.
struct PortShare {
  std::uint32_t members = 1;  // DCMs that receive through the port at present
  DurationNs base_ns = 0;     // shortest response time that any of them has seen of late; 0: not known
};

// Which requests may go now. A collector has one; it sees requests wanted, requests sent, bytes arrived, and
// time. Pure; one thread.
class Shaper {
 public:
  virtual ~Shaper() = default;
  // A demand larger than the whole window goes when nothing else is outstanding, so that nothing waits for
  // ever.
  [[nodiscard]] virtual Credit try_take(const Demand& demand, TimeNs now_ns) = 0;
  // What goes whatever the window says: asked once more after a lost connection or a bad checksum.
  virtual void take(const Demand& demand, TimeNs now_ns) = 0;
  // So many bytes of what this readout was asked for are here. In all never more than were taken.
  virtual void arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) = 0;
  // So many fragments have been answered, late and missing ones included; `bytes` of what was taken for them
  // will not come any more, because they were smaller than expected.
  virtual void answered(std::uint32_t readout, std::uint32_t fragments, std::uint64_t bytes,
                        TimeNs now_ns) = 0;
  // The connection is gone: nothing that is outstanding there will be answered.
  virtual void readout_lost(std::uint32_t readout) = 0;

  // Large fragments are asked for in pieces of about this many bytes; 0: whole.
  [[nodiscard]] virtual std::uint64_t piece_bytes() const { return 0; }
  // When a refused demand may go although nothing arrives before; kNever: arrivals alone decide.
  [[nodiscard]] virtual TimeNs next_ns() const { return kNever; }
  // response() and end_of_pass() are of use.
  [[nodiscard]] virtual bool learns() const { return false; }
  virtual void response(const Response& response, TimeNs now_ns) { (void)response, (void)now_ns; }
  // Once per pass, after its arrivals and requests. `wanting`: some demand was refused in it.
  virtual void end_of_pass(bool wanting, TimeNs now_ns) { (void)wanting, (void)now_ns; }
  // Segments that this readout's host has sent once more, since the last call: the network has lost some.
  virtual void retransmitted(std::uint32_t readout, std::uint64_t segments, TimeNs now_ns) {
    (void)readout, (void)segments, (void)now_ns;
  }
  // Payload of a slice, about: a window that is small beside it costs no time.
  virtual void set_slice_bytes(std::uint64_t bytes) { (void)bytes; }
  virtual void set_share(const PortShare& share) { (void)share; }

  // What is taken and not given back, in the shaper's own unit, and how much of it there may be; 0: no limit.
  [[nodiscard]] virtual std::uint64_t outstanding() const = 0;
  [[nodiscard]] virtual std::uint64_t window() const = 0;
  // Shortest response time of late; 0: not known.
  [[nodiscard]] virtual DurationNs base_ns() const { return 0; }
};

struct ShaperSettings {
  std::uint32_t readouts = 0;
  bool only_dcm = true;  // of the farm; `adaptive`: then no other DCM fills a line's buffer
  std::uint32_t window_fragments = 256;
  std::uint64_t window_bytes = 4U << 20;
  std::uint64_t range_bytes = 0;       // overrides piece_bytes(); 0: the shaper's own
  std::uint64_t bytes_per_s = 0;       // `paced`; at least 1
  std::uint64_t burst_bytes = 16'384;  // `paced`
  bool pace_pairs = false;             // `paced`: a rate per readout instead of one for all
};

enum class ShapingError : std::uint8_t { unknown_name };

// `none`: everything goes at once.
//
// `fragment-credits`: at most window_fragments outstanding fragments; one is taken with the request and given
// back by its answer (Jereczek 2017, chapter 4: the ATLAS data collection managers' quota).
//
// `byte-credits`: at most window_bytes outstanding, given back as they arrive: fragments differ in size, a
// switch buffer does not. One readout holds half of it at most.
//
// `diatcp`: the same window, divided anew over the flows that have something outstanding or wanted, so that
// each has an equal part at any time (Jereczek 2017, section 4.5.2.2). DIATCP divides the window by
// advertised TCP windows; here requests are divided, and advertised windows are left alone.
//
// `paced`: a leaky bucket of bytes_per_s and burst_bytes over all requests, or with pace_pairs one per
// readout with an equal part of the rate: fair share per pair of readout and DCM, which protects both their
// links (RCNP emulation of the ATLAS sequential option, section VI).
//
// `adaptive`: as byte-credits, with a window that follows what the network shows: adaptive.hpp.
[[nodiscard]] Expected<std::unique_ptr<Shaper>, ShapingError> make_shaper(std::string_view name,
                                                                          const ShaperSettings& settings);

}  // namespace weir::shaping
