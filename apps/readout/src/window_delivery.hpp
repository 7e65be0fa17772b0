#pragma once

#include <weir/base/stamp.hpp>
#include <weir/reports/loss_watch.hpp>
#include <weir/source/fragment_buffer.hpp>
#include <weir/source/time_windows.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace weir::readout {

// The windows of a readout with build.by: time. In: front-ends' pieces and progress, announced and cleared
// slices. Out: fragments, delivered to the buffer. One thread.
class WindowDelivery {
 public:
  static constexpr std::size_t kSourcesReported = 64;  // with their delay, per readout

  // Requires: sources ascend.
  WindowDelivery(std::span<const SourceId> sources, const source::WindowSettings& settings)
      : windows_(sources, settings) {}

  [[nodiscard]] std::vector<std::unique_ptr<source::FragmentSource>> sources();
  // Requires: called before begin_run().
  void attach(source::FragmentBuffer& buffer, source::AnswerSink& sink) {
    buffer_ = &buffer;
    sink_ = &sink;
  }

  // `from`: earlier data are not known; nothing: the run begins now.
  void begin_run(std::optional<UtcNs> from);
  void end_run() { windows_.end_run(); }
  void announced(std::span<const source::Trigger> triggers) {
    windows_.announced(triggers);
    deliver_made();
  }
  void cleared(std::span<const SliceId> slices) {
    for (const SliceId slice : slices) windows_.close(slice);
  }

  // A front-end's fragment: a piece if it has a time. A missing one without is that of a slice.
  source::Delivery add(SourceId source, SliceId slice, source::SourceFragment fragment, const Stamp& stamp,
                       UtcNs utc);
  void pass(SourceId source, UtcNs time, bool gap, UtcNs utc);

  void add_to(v1::Report& report) const;
  void add_losses(reports::LossWatch& losses) const;
  // Returns a sentence if sources send data without a time.
  [[nodiscard]] std::string fault() const;

 private:
  void deliver_made();

  source::TimeWindows windows_;
  source::FragmentBuffer* buffer_ = nullptr;
  source::AnswerSink* sink_ = nullptr;
  std::set<SourceId> timeless_;
};

}  // namespace weir::readout
