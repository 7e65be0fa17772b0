#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/stamp.hpp>
#include <weir/base/time.hpp>
#include <weir/source/source.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace weir::emulation {

// Ways in which a front-end gets out of step with the slices.
enum class SlipKind : std::uint8_t {
  none,
  miss,     // its counter misses one trigger
  twice,    // its counter counts one trigger twice
  restart,  // its counter starts again from 0
  jump,     // its counter is kJump higher: a bit has flipped
  lag,      // its data, counter and time are those of the previous slice: an event has stayed in its buffer
  drift     // its clock gains `drift_ns` with each slice
};
constexpr std::size_t kSlipKinds = 7;
[[nodiscard]] constexpr std::string_view name(SlipKind kind) {
  constexpr std::string_view kNames[] = {"none", "miss", "twice", "restart", "jump", "lag", "drift"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct Slip {
  static constexpr std::uint64_t kJump = 16;

  SlipKind kind = SlipKind::none;
  SliceId at;  // the first slice that is out of step
  DurationNs drift_ns = kMicrosecond;
};

// Returns the stamp of an emulated front-end that is in step: the slice's number and time.
[[nodiscard]] inline Stamp stamp_in_step(const source::Trigger& trigger) {
  return {true, true, trigger.slice.value, trigger.time, trigger.duration};
}

// A source at once that gets out of step.
class SlippingSource final : public source::FragmentSource {
 public:
  SlippingSource(std::unique_ptr<source::FragmentSource> source, const Slip& slip)
      : source_(std::move(source)), slip_(slip) {}

  [[nodiscard]] SourceId id() const override { return source_->id(); }
  void begin_run(RunNumber run) override;
  [[nodiscard]] source::SourceFragment produce(const source::Trigger& trigger) override;
  [[nodiscard]] Stamp stamp(const source::Trigger& trigger) const override;

 private:
  std::unique_ptr<source::FragmentSource> source_;
  Slip slip_;
  std::optional<source::Trigger> latest_;
  source::Trigger shown_;  // the slice whose data produce() returned last
};

}  // namespace weir::emulation
