#pragma once

#include "collector.hpp"
#include <weir/assembly/assembler.hpp>
#include <weir/node/setup.hpp>
#include <weir/shaping/shaper.hpp>
#include <weir/tap/sampler.hpp>

#include <memory>
#include <vector>

namespace weir::dcm {

// Converts the farm file's words to the machines' types.
// `remote`: the DCM is in a remote group. Its steps have at least half of the lease.
[[nodiscard]] assembly::AssemblySettings assembly_settings(const v1::Farm& farm, bool remote);
// Settings of the collector, except the memory's size.
[[nodiscard]] CollectorSettings collector_settings(const node::Setup& setup);
// Sources of the first step named in the farm file, ascending; empty: none named.
[[nodiscard]] std::vector<SourceId> first_sources(const node::Setup& setup);
// Sources that the farm file has prefetched while each step runs, in the order of steps.
[[nodiscard]] std::vector<std::vector<SourceId>> sources_after_steps(const node::Setup& setup);
[[nodiscard]] tap::SamplerSettings sampler_settings(const node::Setup& setup);
[[nodiscard]] std::unique_ptr<shaping::Shaper> make_shaper(const node::Setup& setup);
// Makes the shaper of slices that are fetched from other DCMs: of the DCM's kind and settings, except that
// `adaptive` sets no limit, because only readouts send the timings that it learns from.
[[nodiscard]] std::unique_ptr<shaping::Shaper> make_fetch_shaper(const node::Setup& setup);
// Sources of all readouts, sorted by id, without masked ones.
[[nodiscard]] std::vector<assembly::SourceInfo> source_table(const config::FarmPlan& plan);

}  // namespace weir::dcm
