#pragma once

#include "collector.hpp"
#include <weir/assembly/assembler.hpp>
#include <weir/node/setup.hpp>
#include <weir/shaping/shaper.hpp>
#include <weir/tap/sampler.hpp>

#include <memory>
#include <vector>

namespace weir::dcm {

// The farm file's words as the machines'.
[[nodiscard]] assembly::AssemblySettings assembly_settings(const v1::Farm& farm);
// But for the memory's size.
[[nodiscard]] CollectorSettings collector_settings(const node::Setup& setup);
// Sources of the first step that the farm file names, ascending; empty: it names none.
[[nodiscard]] std::vector<SourceId> first_sources(const node::Setup& setup);
// Sources that the farm file has prefetched while each step runs, in the order of steps.
[[nodiscard]] std::vector<std::vector<SourceId>> sources_after_steps(const node::Setup& setup);
[[nodiscard]] tap::SamplerSettings sampler_settings(const node::Setup& setup);
[[nodiscard]] std::unique_ptr<shaping::Shaper> make_shaper(const node::Setup& setup);
// Of all readouts, sorted by id, masked ones left out.
[[nodiscard]] std::vector<assembly::SourceInfo> source_table(const config::FarmPlan& plan);

}  // namespace weir::dcm
