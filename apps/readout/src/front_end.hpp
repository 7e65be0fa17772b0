#pragma once

#include "own_numbers.hpp"
#include "step_check.hpp"
#include "window_delivery.hpp"
#include <weir/readout/node.hpp>
#include <weir/reports/loss_watch.hpp>
#include <weir/source/fragment_buffer.hpp>
#include <weir/source_host/instance.hpp>
#include <weir/v1/control.pb.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::readout {

struct FrontEndSettings {
  std::string plugin;                             // name or path
  std::vector<std::string> folders;               // searched before the environment's
  source_host::HostSettings host;                 // of a source in Python
  source_host::InstanceConfig instance;           // without wake and log
  v1::RunIdentity::Part name;                     // node::source_name()
  v1::RunIdentity run_identity;                   // a plugin that differs from the run's is refused
  std::optional<source::WindowSettings> windows;  // with build.by: time
};

// A source plugin in a readout: called when its descriptor is readable, when it woke the readout, and also
// every kPollInterval; delivered fragments go into the fragment buffer. One thread.
class FrontEnd final : private source_host::Arrivals {
 public:
  // Throws std::runtime_error with a sentence.
  [[nodiscard]] static std::unique_ptr<FrontEnd> make(const FrontEndSettings& settings,
                                                      const ReadoutEnvironment& environment);
  ~FrontEnd() override;

  // `steps`: the check of counters and times; null: none. Requires: it is valid as long as this object.
  [[nodiscard]] std::vector<std::unique_ptr<source::FragmentSource>> sources(StepCheck* steps);
  // Sets the buffer to deliver to and the counter of losses. Requires: called before begin_run().
  // `numbers`: places the fragments' counters; null: fragments come with the slice's id.
  void attach(source::FragmentBuffer& buffer, source::AnswerSink& sink, reports::LossWatch& losses,
              OwnNumbers* numbers);

  // Empty, or why the plugin refuses the run.
  // `joins`: the run has begun without this process.
  [[nodiscard]] std::string begin_run(RunNumber run, SliceId first_slice, bool joins);
  void announced(std::span<const source::Trigger> triggers);
  void cleared(std::span<const SliceId> slices) {
    if (windows_) windows_->cleared(slices);
  }
  void pass(TimeNs now_ns);
  void end_run();
  // Adds `source.NAME` for each of the plugin's counters; note `source`: its name and version; its part of
  // `ran`.
  void add_to(v1::Report& report) const;
  // Returns the faults of front-ends that the plugin reported in this run: the first kFaultsMax, then how
  // many more.
  [[nodiscard]] std::vector<std::string> faults() const;
  static constexpr std::size_t kFaultsMax = 20;
  // Counts the fragments that the plugin could not make, of `made` slices, and its deliveries that were
  // refused, beside `delivered` ones.
  void add_losses(std::uint64_t made, std::uint64_t delivered);

 private:
  FrontEnd() = default;
  source::Delivery on_fragment(SourceId source, SliceId slice, source::SourceFragment fragment,
                               const Stamp& stamp) override;
  void on_watermark(SourceId source, SliceId slice, MissingReason reason) override;
  void on_time_passed(SourceId source, UtcNs time, bool gap) override;
  void on_losses(std::optional<SourceId> source, std::uint64_t reached, std::uint64_t lost,
                 std::string_view reason) override;
  void on_fault(std::string_view text) override;

  std::vector<SourceId> ids_;
  std::shared_ptr<source_host::SourceInstance> instance_;
  v1::RunIdentity::Part plugin_part_;
  std::unique_ptr<ports::Watch> watch_;
  std::unique_ptr<WindowDelivery> windows_;  // with build.by: time
  source::FragmentBuffer* buffer_ = nullptr;
  source::AnswerSink* sink_ = nullptr;
  StepCheck* steps_ = nullptr;
  reports::LossWatch* losses_ = nullptr;
  OwnNumbers* numbers_ = nullptr;
  const ports::Clock* clock_ = nullptr;
  UtcNs polled_utc_ns_ = 0;
  std::vector<std::string> faults_;
  std::uint64_t faults_unnamed_ = 0;
  bool readable_ = false;
  std::atomic<bool> woken_{false};
  TimeNs polled_ns_ = 0;
};

}  // namespace weir::readout
