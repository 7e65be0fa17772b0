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
  std::uint64_t bytes = 0;      // expected, frame headers included; 0: unknown
};

// Measurements from the answer to a request.
struct MeasuredAnswer {
  std::uint32_t readout = 0;
  DurationNs time_ns = 0;   // from the request to the last byte of its answer
  std::uint64_t bytes = 0;  // actual length of the answer, headers included
  // Part of that time in the two hosts instead of the network, because a process waited for the CPU. 0 if
  // unknown.
  DurationNs host_ns = 0;
  // Bytes that the readout owed at the time of the request, this one included: its uplink sends one answer
  // after another.
  std::uint64_t owed = 0;
};

enum class Credit : std::uint8_t {
  granted,       // the request may be sent, and its credit is taken
  readout_full,  // not to this readout, perhaps to another one
  full,          // no more requests now
};

// A DCM's share of the port through which it receives, from the supervisor. The window belongs to the port:
// DCMs behind one port divide it.
struct PortShare {
  std::uint32_t members = 1;  // DCMs that receive through the port at present
  DurationNs base_ns = 0;     // shortest recent response time of any of them; 0: unknown
};

// Decides which requests may be sent now. A DCM has one shaper, which observes demands, requests, received
// bytes and time. Pure; not thread-safe.
class Shaper {
 public:
  virtual ~Shaper() = default;
  // A demand larger than the whole window is granted if nothing else is outstanding, so that it cannot wait
  // forever. A strict shaper refuses it.
  [[nodiscard]] virtual Credit try_take(const Demand& demand, TimeNs now_ns) = 0;
  // Returns how many bytes try_take() would grant to this readout now, in one demand or several; 0: unknown,
  // or none.
  [[nodiscard]] virtual std::uint64_t room(std::uint32_t readout) const { return (void)readout, 0; }
  // Takes credit regardless of the window: for demands within room(), and for requests repeated after a lost
  // connection or a bad checksum.
  virtual void take(const Demand& demand, TimeNs now_ns) = 0;
  // This many requested bytes of the readout have arrived. In total never more than were taken.
  virtual void arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) = 0;
  // This many fragments have been answered, late and missing ones included; `bytes` of their charge will not
  // arrive, because they were smaller than expected.
  virtual void answered(std::uint32_t readout, std::uint32_t fragments, std::uint64_t bytes,
                        TimeNs now_ns) = 0;
  // A connection begins. `selective_acks`: its TCP repairs single losses before its timeout; true if unknown.
  virtual void connected(std::uint32_t readout, bool selective_acks) { (void)readout, (void)selective_acks; }
  // The connection is lost: outstanding requests to it will not be answered.
  virtual void readout_lost(std::uint32_t readout) = 0;

  // Returns the size of pieces in which large fragments are requested; 0: whole.
  [[nodiscard]] virtual std::uint64_t piece_bytes() const { return 0; }
  // Returns whether no request may exceed the window. The caller then requests fragments_max() at a time.
  [[nodiscard]] virtual bool strict() const { return false; }
  // Returns the most fragments that a demand may have now; at least 1. A larger one is refused for as long as
  // other requests are outstanding.
  [[nodiscard]] virtual std::uint32_t fragments_max() const { return UINT32_MAX; }
  // Returns when a refused demand may be retried without further arrivals; kNever: only arrivals matter.
  [[nodiscard]] virtual TimeNs next_ns() const { return kNever; }
  // Returns whether response() and end_of_pass() are needed.
  [[nodiscard]] virtual bool learns() const { return false; }
  virtual void response(const MeasuredAnswer& response, TimeNs now_ns) { (void)response, (void)now_ns; }
  // To be called once per pass, after its arrivals and requests. `wanting`: some demand was refused in it.
  virtual void end_of_pass(bool wanting, TimeNs now_ns) { (void)wanting, (void)now_ns; }
  // Segments that this readout's host has retransmitted since the last call: the network has lost some.
  virtual void retransmitted(std::uint32_t readout, std::uint64_t segments, TimeNs now_ns) {
    (void)readout, (void)segments, (void)now_ns;
  }
  // Sets the approximate payload of a slice: a window that is small compared with it costs no time.
  virtual void set_slice_bytes(std::uint64_t bytes) { (void)bytes; }
  virtual void set_share(const PortShare& share) { (void)share; }

  // Return the outstanding credit in the shaper's own unit, and its limit; 0: no limit.
  [[nodiscard]] virtual std::uint64_t outstanding() const = 0;
  [[nodiscard]] virtual std::uint64_t window() const = 0;
  // Returns the shortest recent response time; 0: unknown.
  [[nodiscard]] virtual DurationNs base_ns() const { return 0; }
};

struct ShaperSettings {
  std::uint32_t readouts = 0;
  bool only_dcm = true;  // of the farm; `adaptive`: no other DCM fills a line's buffer
  std::uint32_t window_fragments = 256;
  bool window_strict = false;  // `fragment-credits`: never more than window_fragments
  std::uint64_t window_bytes = 4U << 20;
  std::uint64_t range_bytes = 0;       // overrides piece_bytes(); 0: the shaper's own
  std::uint64_t bytes_per_s = 0;       // `paced`; at least 1
  std::uint64_t burst_bytes = 16'384;  // `paced`
  bool pace_pairs = false;             // `paced`: a rate per readout instead of one for all
  // `adaptive`: the buffer of the DCM's switch port, and the bytes that the port sends in an idle round trip;
  // 0: unknown
  std::uint64_t port_buffer_bytes = 0;
  std::uint64_t port_round_trip_bytes = 0;
};

enum class ShapingError : std::uint8_t { unknown_name };

// `none`: no limit.
//
// `fragment-credits`: at most window_fragments outstanding fragments; one is taken with the request and
// returned by its answer (Jereczek 2017, chapter 4: the ATLAS data collection managers' quota). With
// window_strict a request has as many fragments as credits are left, as in the thesis; without, one readout's
// fragments are requested together if nothing is outstanding.
//
// `byte-credits`: at most window_bytes outstanding, returned as they arrive: fragments differ in size, a
// switch buffer does not. One readout holds half of the window at most.
//
// `diatcp`: the same window, divided equally at any time over the flows with outstanding or wanted bytes
// (Jereczek 2017, section 4.5.2.2). DIATCP divides the window by advertised TCP windows; Weir divides
// requests, and leaves advertised windows unchanged.
//
// `paced`: a leaky bucket of bytes_per_s and burst_bytes over all requests, or with pace_pairs one per
// readout with an equal part of the rate: fair share per pair of readout and DCM, which protects both their
// links (RCNP emulation of the ATLAS sequential option, section VI).
//
// `adaptive`: like byte-credits, with a window that follows the network's behaviour: adaptive.hpp.
[[nodiscard]] Expected<std::unique_ptr<Shaper>, ShapingError> make_shaper(std::string_view name,
                                                                          const ShaperSettings& settings);

}  // namespace weir::shaping
