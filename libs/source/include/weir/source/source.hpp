#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <memory>

namespace weir::source {

// What the supervisor announces to every readout: there is a slice, and this is its time.
struct Trigger {
  SliceId slice;
  UtcNs time = 0;           // start of a time slice, or the moment of a trigger
  DurationNs duration = 0;  // length of a time slice; 0 for an event
  TriggerType type;
};

// What one source holds for one slice. `owner` keeps `bytes` alive; an empty owner means that the source
// itself does, for as long as it lives. `crc32c` covers `bytes`; it is computed here, once, and stored
// unchanged.
struct Fragment {
  FragmentStatus status = FragmentStatus::ok;  // ok, truncated, suppressed or missing
  MissingReason reason = MissingReason::none;  // when missing
  std::uint32_t crc32c = 0;                    // 0 when the farm runs without checksums
  ConstBytes bytes;
  std::shared_ptr<const void> owner;
};

// One detector link, real or emulated. One thread. An emulated source is a function of its configuration, the
// run and the trigger: asked twice it gives the same bytes; the readout asks once and buffers the answer
// until cleared.
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual SourceId id() const = 0;
  virtual void begin_run(RunNumber run) = 0;
  // Makes or fetches the fragment of this trigger. Must not block.
  [[nodiscard]] virtual Fragment produce(const Trigger& trigger) = 0;
  // True: its fragments come when they come, by FragmentBuffer::deliver(), and produce() is never asked.
  [[nodiscard]] virtual bool arrives() const { return false; }
  // Of one that arrives(): from now on this slice has a place in the buffer. Must not call the buffer.
  virtual void awaited(const Trigger& /*trigger*/) {}
};

}  // namespace weir::source
