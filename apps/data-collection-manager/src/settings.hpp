#pragma once

#include "burst_saver.hpp"
#include "collector.hpp"
#include "filter_stage.hpp"
#include "node_link.hpp"
#include "plane_links.hpp"
#include "push_admission.hpp"
#include "shipment_stage.hpp"
#include "slice_admission.hpp"
#include "slice_fetcher.hpp"
#include "slice_samples.hpp"
#include "slice_server.hpp"
#include <weir/assembly/assembler.hpp>
#include <weir/node/member_settings.hpp>
#include <weir/node/setup.hpp>
#include <weir/shaping/shaper.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::dcm {

// The settings of a DCM, made once from the farm file.
struct DcmNodeSettings {
  node::MemberSettings member;
  std::size_t buffer_bytes;  // memory of its slices
  assembly::AssemblySettings assembly;
  std::vector<assembly::SourceInfo> sources;
  CollectorSettings collector;  // without the memory's size
  std::optional<PushAdmissionSettings> push;
  DurationNs connect_patience_ns;  // for readouts, at the begin of the run
  DurationNs drop_silent_ns;       // a readout that holds all requests for this long is disconnected
  std::vector<TypeSources> type_sources;
  std::vector<SourceId> first_sources;                     // of the first step, ascending; empty: none named
  std::vector<std::vector<SourceId>> sources_after_steps;  // to be prefetched while each step runs
  FilterSettings filter;
  SliceSamplesSettings samples;
  ShipmentSettings shipments;
  std::optional<BurstSaverSettings> burst;
  bool burst_has_disk;
  LinkSettings readout_link;
  std::optional<PlaneLinkSettings> planes;  // nothing: one network
  std::size_t readouts;
  std::optional<SliceServerSettings> server;    // nothing: no group fetches slices from this DCM
  std::optional<SliceFetcherSettings> fetcher;  // nothing: this DCM's group fetches none
  std::vector<bool> fetching_groups;            // by place in dcm.groups
  std::size_t kept_max;                         // slices kept for them
  std::size_t trace_slices;
  std::string trace_file;
  std::uint32_t processing_units;
};
[[nodiscard]] DcmNodeSettings node_settings(const node::Setup& setup);

// Of the parts. The steps of a DCM in a remote group have at least half of the lease.
[[nodiscard]] assembly::AssemblySettings assembly_settings(const node::Setup& setup);
[[nodiscard]] LinkSettings link_settings(const node::Setup& setup);
[[nodiscard]] std::optional<PlaneLinkSettings> plane_settings(const node::Setup& setup);
[[nodiscard]] PushAdmissionSettings push_admission_settings(const node::Setup& setup);
[[nodiscard]] SliceSamplesSettings samples_settings(const node::Setup& setup);
[[nodiscard]] FilterSettings filter_settings(const node::Setup& setup);
[[nodiscard]] ShipmentSettings shipment_settings(const node::Setup& setup);
[[nodiscard]] SliceServerSettings server_settings(const node::Setup& setup);
[[nodiscard]] SliceFetcherSettings fetcher_settings(const node::Setup& setup);
[[nodiscard]] std::unique_ptr<shaping::Shaper> make_shaper(const node::Setup& setup);
// Makes the shaper of slices that are fetched from other DCMs: of the DCM's kind and settings, except that
// `adaptive` sets no limit, because only readouts send the timings that it learns from.
[[nodiscard]] std::unique_ptr<shaping::Shaper> make_fetch_shaper(const node::Setup& setup);

}  // namespace weir::dcm
