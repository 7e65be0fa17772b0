#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/stamp.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <memory>

namespace weir::source {

// The supervisor's announcement of a slice to every readout.
struct Trigger {
  SliceId slice;
  UtcNs time = 0;           // start of a time slice, or the moment of a trigger
  DurationNs duration = 0;  // length of a time slice; 0 for an event
  TriggerType type;
};

// One source's data for one slice. `owner` keeps `bytes` alive; if it is empty, they are valid as long as the
// source. `crc32c` covers `bytes`; it is computed here, once, and stored unchanged.
struct SourceFragment {
  FragmentStatus status = FragmentStatus::ok;  // ok, truncated, suppressed or missing
  MissingReason reason = MissingReason::none;  // when missing
  std::uint32_t crc32c = 0;                    // 0 if the farm runs without checksums
  ConstBytes bytes;
  std::shared_ptr<const void> owner;
};

// One detector link, real or emulated. Not thread-safe. An emulated source is a function of its
// configuration, the run and the trigger: a second call returns the same bytes. The readout calls it once,
// and buffers the result until it is cleared.
class FragmentSource {
 public:
  virtual ~FragmentSource() = default;
  [[nodiscard]] virtual SourceId id() const = 0;
  virtual void begin_run(RunNumber run) = 0;
  // Makes or fetches the fragment of this trigger. Must not block.
  [[nodiscard]] virtual SourceFragment produce(const Trigger& trigger) = 0;
  // Returns the counter and the clock of the front-end with the fragment that produce() returned last, for
  // this trigger.
  [[nodiscard]] virtual Stamp stamp(const Trigger& /*trigger*/) const { return {}; }
  // How the source's fragments reach the buffer.
  enum class Timing : std::uint8_t {
    at_once,  // produce() returns every fragment
    later,    // only FragmentBuffer::deliver(); produce() is never called
    either    // produce() returns it, or a pending_fragment() that deliver() completes
  };
  [[nodiscard]] virtual Timing timing() const { return Timing::at_once; }
  // Unless at_once: the buffer no longer waits for this slice's fragment, and no longer reserves memory for
  // it. Must not call the buffer.
  virtual void given_up(SliceId /*slice*/) {}
};

// Makes a fragment that never comes, with the reason.
[[nodiscard]] inline SourceFragment missing_fragment(MissingReason reason) {
  SourceFragment fragment;
  fragment.status = FragmentStatus::missing;
  fragment.reason = reason;
  return fragment;
}
// Returns whether the fragment has not arrived yet: missing without a reason.
[[nodiscard]] inline bool is_pending(const SourceFragment& fragment) {
  return fragment.status == FragmentStatus::missing && fragment.reason == MissingReason::none;
}
// Makes a pending fragment. `expected`: bytes that the buffer reserves until it arrives, stored in the place
// of the checksum, which a pending fragment does not have.
[[nodiscard]] inline SourceFragment pending_fragment(std::uint32_t expected) {
  SourceFragment fragment;
  fragment.status = FragmentStatus::missing;
  fragment.crc32c = expected;
  return fragment;
}
[[nodiscard]] inline std::uint32_t expected_bytes(const SourceFragment& pending) { return pending.crc32c; }

}  // namespace weir::source
