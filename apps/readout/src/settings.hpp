#pragma once

#include "front_end.hpp"
#include "own_numbers.hpp"
#include "push_sender.hpp"
#include "sources.hpp"
#include <weir/node/member_settings.hpp>
#include <weir/node/setup.hpp>
#include <weir/source/fragment_buffer.hpp>
#include <weir/steps/step_watch.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::readout {

// The settings of a readout, made once from the farm file.
struct ReadoutNodeSettings {
  node::MemberSettings member;
  std::vector<std::string> dcms;  // names, by index
  std::size_t planned_sources;    // of this readout, masked ones too
  double loss_share_max;          // of a source's fragments
  std::uint64_t fault_seed;
  source::BufferLimits buffer;
  std::optional<FrontEndSettings> front_end;  // nothing: the sources are built in
  std::optional<OwnNumbersSettings> numbers;  // where front-ends number the slices
  SourcesSettings sources;
  std::optional<steps::WatchSettings> steps;  // nothing: counters and times are not compared
  std::optional<PushSettings> push;           // nothing: pull running
  std::optional<TruthSettings> truth;         // of the first readout of kind `hits`
};
[[nodiscard]] ReadoutNodeSettings node_settings(const node::Setup& setup);
[[nodiscard]] std::optional<PushSettings> push_settings(const node::Setup& setup);

}  // namespace weir::readout
