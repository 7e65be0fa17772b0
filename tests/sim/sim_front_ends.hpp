#pragma once

#include "front_end_plan.hpp"
#include <weir/base/bytes.hpp>
#include <weir/emulation/dummy_content.hpp>
#include <weir/simnet/world.hpp>

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace weir::sim {

// The front-ends of a simulated farm: they continue while a readout is dead, and lose their data of that
// time. The plugin `front-ends` of each readout delivers the data that have arrived. One farm at a time.
class SimFrontEnds {
 public:
  SimFrontEnds(simnet::World& world, const FrontEndPlan& plan);
  ~SimFrontEnds();
  SimFrontEnds(const SimFrontEnds&) = delete;
  SimFrontEnds& operator=(const SimFrontEnds&) = delete;
  // Returns the farm's. Requires: there is one.
  [[nodiscard]] static SimFrontEnds& get();

  [[nodiscard]] const FrontEndPlan& plan() const { return plan_; }
  [[nodiscard]] TimeNs now() const { return world_.now_ns(); }
  // A source's readout begins a run. Event 0 of farms by number happens soon after the first of them.
  void begin(std::uint32_t source);
  // Returns the simulated moment of an event.
  [[nodiscard]] TimeNs moment(std::uint32_t source, std::uint64_t event) const {
    return zero_ + plan_.moment(plan_.kind == FrontEnds::number ? 0 : source, event);
  }
  // Returns the number of events by number until now, about.
  [[nodiscard]] std::uint64_t happened() const;
  [[nodiscard]] static UtcNs utc(TimeNs moment);
  [[nodiscard]] static TimeNs moment_of(UtcNs utc);
  void remember_trigger(std::uint64_t slice, UtcNs time) { trigger_times_.try_emplace(slice, time); }
  [[nodiscard]] UtcNs trigger_time(std::uint64_t slice) const;
  // Returns the number of remembered triggers from this slice on, and until this moment.
  [[nodiscard]] std::uint64_t triggers_between(std::uint64_t slice, TimeNs until) const;
  // The supervisor's log has this line now.
  void note_log(std::string_view line);
  // Returns the moment at which the supervisor named the source that slips; 0: it did not.
  [[nodiscard]] TimeNs named_at() const { return named_at_; }
  // Returns the bytes of an event.
  [[nodiscard]] ConstBytes content(std::uint32_t source, std::uint64_t event) const;
  // Returns the moments at which the readout of this source began to receive, in ascending order.
  [[nodiscard]] const std::vector<TimeNs>& begins(std::uint32_t source) { return begins_[source]; }

 private:
  simnet::World& world_;
  FrontEndPlan plan_;
  TimeNs zero_ = 0;
  bool begun_ = false;
  std::map<std::uint32_t, std::vector<TimeNs>> begins_;
  std::map<std::uint64_t, UtcNs> trigger_times_;
  TimeNs named_at_ = 0;
  emulation::DummyContent content_;
};

}  // namespace weir::sim
