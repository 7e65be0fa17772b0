#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace weir::shaping {

// One request to one readout: all that is asked of it for one step of one slice.
struct Demand {
  std::uint32_t readout = 0;    // index
  std::uint32_t fragments = 0;  // each is answered once
  std::uint64_t bytes = 0;      // expected; 0: not known
};

// Which requests may go now. A collector has one; it sees requests wanted, requests sent, answers arrived,
// and time. Pure; one thread.
class Shaper {
 public:
  virtual ~Shaper() = default;
  // True: the request goes now, and its credit is taken. A demand larger than the whole window goes when
  // nothing else is outstanding, so that nothing waits for ever.
  [[nodiscard]] virtual bool try_take(const Demand& demand, TimeNs now_ns) = 0;
  // What goes whatever the window says: asked once more after a lost connection or a bad checksum.
  virtual void take(const Demand& demand) = 0;
  // A fragment has been answered, late and missing ones included.
  virtual void answered(std::uint32_t readout, TimeNs now_ns) = 0;
  // The connection is gone: nothing that is outstanding there will be answered.
  virtual void readout_lost(std::uint32_t readout) = 0;
  // What is taken and not given back, in the shaper's own unit.
  [[nodiscard]] virtual std::uint64_t outstanding() const = 0;
};

struct ShaperSettings {
  std::uint32_t readouts = 0;
  std::uint32_t window_fragments = 256;
  std::uint64_t window_bytes = 4U << 20;
};

enum class ShapingError : std::uint8_t { unknown_name };

// `none`: everything goes at once.
// `fragment-credits`: at most window_fragments outstanding fragments; one is taken with the request and given
// back by its answer (Jereczek 2017, chapter 4: the ATLAS data collection managers' quota; REFERENCE.md C).
// `byte-credits`: the same, counted in the bytes that are expected: fragments differ in size, a switch buffer
// does not. A demand whose size nobody knows yet is charged a 16th of the window.
[[nodiscard]] Expected<std::unique_ptr<Shaper>, ShapingError> make_shaper(std::string_view name,
                                                                          const ShaperSettings& settings);

}  // namespace weir::shaping
