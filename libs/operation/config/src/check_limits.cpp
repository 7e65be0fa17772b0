#include "field_value.hpp"
#include "validation.hpp"
#include <weir/base/buffer_pool.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <string>

namespace weir::config {
namespace {

std::uint64_t all_credits(Validation& found) {
  const v1::DcmSettings& dcm = found.farm().dcm();
  std::uint64_t credits = dcm.nodes().empty() ? std::uint64_t{dcm.count()} * dcm.credits() : 0;
  for (int entry = 0; entry < dcm.nodes_size(); ++entry)
    credits += std::uint64_t{dcm.nodes(entry).count()} *
               found.node_farms().of(Role::dcm, entry).farm.dcm().credits();
  return credits;
}

// Checks that `bytes` holds one slice (an error if not) and `count` slices (a warning if not).
void check_slice_memory(Validation& found, const std::string& key, std::uint64_t bytes, std::uint64_t slice,
                        std::uint64_t count, const std::string& count_key) {
  if (bytes < slice) {
    found.inconsistent(key, print_size(bytes) + " is below one slice of about " + print_size(slice));
  } else if (slice > 0 && bytes / slice < count) {
    found.warn(key, print_size(bytes) + " holds about " + std::to_string(bytes / slice) + " slices of " +
                        print_size(slice) + ", and " + count_key + " allows for " + std::to_string(count) +
                        ": memory is the limit");
  }
}

void check_readout_memory(Validation& found, const NodeFarms::Kind& readouts, const ExpectedSizes& sizes) {
  std::size_t sources_max = 0;
  for (const NodePlan* node : readouts.nodes) sources_max = std::max(sources_max, node->sources.size());
  check_slice_memory(found, "readout.buffer_bytes", found.here().readout().buffer_bytes(),
                     sizes.fragment * sources_max, found.farm().supervisor().in_flight_max(),
                     "supervisor.in_flight_max");
}

// Warns of a setting for a shaper that is not selected.
void check_unused(Validation& found, const std::string& key, bool given, const std::string& shaper) {
  if (given && !found.here().dcm().has_shaper())
    found.warn(key,
               "has no effect with dcm.shaper 'adaptive', the default: set dcm.shaper to '" + shaper + "'");
}

void check_dcm_memory(Validation& found, const v1::DcmSettings& dcm, const ExpectedSizes& sizes) {
  const std::uint64_t bytes = dcm.buffer_bytes();
  const std::uint64_t block = BufferPool::block_bytes(sizes.placed);
  const std::uint64_t count = block == 0 ? dcm.credits() : dcm_buffer_planned(bytes) / block;
  if (bytes < dcm_buffer_min(sizes)) {
    found.inconsistent("dcm.buffer_bytes", print_size(bytes) + " is below " +
                                               print_size(dcm_buffer_min(sizes)) + ": one slice of about " +
                                               print_size(sizes.slice) +
                                               " and the gaps between its fragments");
  } else if (count < dcm.credits()) {
    found.warn("dcm.buffer_bytes",
               print_size(bytes) + " holds about " + std::to_string(std::max<std::uint64_t>(1, count)) +
                   " slices in blocks of " + print_size(block) + ", and dcm.credits allows for " +
                   std::to_string(dcm.credits()) + ": memory is the limit");
  }
}

void check_dcm(Validation& found, const ExpectedSizes& sizes) {
  const v1::DcmSettings& dcm = found.here().dcm();
  if (sizes.fragment_max > dcm.fragment_bytes_max()) {
    found.inconsistent("dcm.fragment_bytes_max", print_size(dcm.fragment_bytes_max()) +
                                                     " is below the largest fragment, " +
                                                     print_size(sizes.fragment_max));
  }
  const bool window =
      dcm.shaper() == v1::DcmSettings::SHAPER_BYTE_CREDITS || dcm.shaper() == v1::DcmSettings::SHAPER_DIATCP;
  if (window && dcm.range_bytes() > dcm.window_bytes()) {
    found.warn("dcm.window_bytes", print_size(dcm.window_bytes()) + " is below one request of " +
                                       print_size(dcm.range_bytes()) +
                                       ": set a smaller dcm.range_bytes, otherwise requests go one by one");
  }
  check_unused(found, "dcm.window_bytes", dcm.has_window_bytes(), "byte-credits");
  check_unused(found, "dcm.window_fragments", dcm.has_window_fragments(), "fragment-credits");
  check_unused(found, "dcm.window_strict", dcm.has_window_strict(), "fragment-credits");
  check_unused(found, "dcm.pace_bytes_per_s", dcm.has_pace_bytes_per_s(), "paced");
  check_dcm_memory(found, dcm, sizes);
}

}  // namespace

void check_dcm_limits(Validation& found) {
  const v1::DcmSettings& dcm = found.here().dcm();
  if (dcm.credits() > dcm.slices_max()) {
    found.inconsistent("dcm.slices_max", std::to_string(dcm.slices_max()) + " is below dcm.credits, " +
                                             std::to_string(dcm.credits()));
  } else if (dcm.incomplete() == v1::DcmSettings::INCOMPLETE_ORDER &&
             std::uint64_t{2} * dcm.credits() > dcm.slices_max()) {
    found.inconsistent("dcm.slices_max",
                       std::to_string(dcm.slices_max()) + " is below twice dcm.credits, " +
                           std::to_string(dcm.credits()) +
                           ": with dcm.incomplete 'order' a slice that arrives while decided "
                           "ones await their confirmation would lose its fragments");
  }
  if (dcm.credits() < dcm.processing_units()) {
    found.warn("dcm.credits", std::to_string(dcm.credits()) + " is below dcm.processing_units, " +
                                  std::to_string(dcm.processing_units()) + ": some of them never work");
  }
  if (dcm.fragment_bytes_max() > dcm.buffer_bytes()) {
    found.inconsistent("dcm.fragment_bytes_max", print_size(dcm.fragment_bytes_max()) +
                                                     " is above dcm.buffer_bytes, " +
                                                     print_size(dcm.buffer_bytes()));
  }
}

void check_supervisor(Validation& found) {
  const v1::SupervisorSettings& supervisor = found.farm().supervisor();
  if (const std::uint64_t credits = all_credits(found); supervisor.in_flight_max() < credits) {
    found.warn("supervisor.in_flight_max", std::to_string(supervisor.in_flight_max()) +
                                               " is below the DCMs' " + std::to_string(credits) +
                                               " credits: some of them are never used");
  }
  if (supervisor.in_flight_max() > found.farm().readout().buffer_slices()) {
    found.warn("supervisor.in_flight_max",
               std::to_string(supervisor.in_flight_max()) + " is above readout.buffer_slices, " +
                   std::to_string(found.farm().readout().buffer_slices()) + ": the readouts are the limit");
  }
}

// Checks each kind of readout; returns the sizes of all sources together.
ExpectedSizes check_readouts(Validation& found, const FarmPlan& plan, const ReplayReader& replay) {
  ExpectedSizes all;
  for (const NodeFarms::Kind& readouts : found.node_farms().kinds(plan, Role::readout)) {
    found.look_at(readouts.shared, [&] {
      const ReplayContents recorded = recorded_by(found, replay);
      check_listed_sources(found, readouts, recorded);
      const ExpectedSizes part = expected_sizes(readouts, plan, recorded);
      check_readout_memory(found, readouts, part);
      all.fragment_max = std::max(all.fragment_max, part.fragment_max);
      all.slice += part.slice;
      all.placed += part.placed;
    });
  }
  return all;
}

void check_dcms(Validation& found, const FarmPlan& plan, const ExpectedSizes& sizes) {
  for (const NodeFarms::Kind& dcms : found.node_farms().kinds(plan, Role::dcm))
    found.look_at(dcms.shared, [&] { check_dcm(found, sizes); });
  if (sizes.slice > wire::kRecordBytesMax) {
    found.inconsistent("readout", "one slice of about " + print_size(sizes.slice) +
                                      " is above the longest that is stored, " +
                                      print_size(wire::kRecordBytesMax));
  }
}

void check_burst(Validation& found, const FarmPlan& plan) {
  const v1::BurstSettings& burst = found.farm().burst();
  if (burst.buffer_bytes() > 0 && plan.of_role(Role::writer).empty())
    found.inconsistent("burst.buffer_bytes", "alerts need a writer, and the farm has none");
  if (burst.disk_bytes() == 0) return;
  if (burst.buffer_bytes() == 0) {
    found.inconsistent("burst.disk_bytes", "needs burst.buffer_bytes: records go through memory to the disk");
  } else if (burst.disk_bytes() <= burst.buffer_bytes()) {
    found.inconsistent("burst.disk_bytes", print_size(burst.disk_bytes()) +
                                               " is not above burst.buffer_bytes, " +
                                               print_size(burst.buffer_bytes()) +
                                               ": the disk holds the slices in memory and older ones");
  }
  if (burst.folder().empty())
    found.error(ProblemKind::missing_key, "burst.folder", "burst.disk_bytes needs a folder on a local disk");
}

void check_writers(Validation& found, const FarmPlan& plan, const ExpectedSizes& sizes) {
  for (const NodeFarms::Kind& writers : found.node_farms().kinds(plan, Role::writer)) {
    found.look_at(writers.shared, [&] {
      if (found.here().writer().buffer_bytes() >= sizes.slice) return;
      found.warn("writer.buffer_bytes", print_size(found.here().writer().buffer_bytes()) +
                                            " is below one slice of about " + print_size(sizes.slice) +
                                            ": a writer accepts one at a time, and needs memory for it");
    });
  }
}

// The processes read the farm as the run records it: one file, with its includes and all defaults.
void check_length(Validation& found) {
  const std::size_t bytes = to_yaml(found.farm()).size();
  if (bytes <= kFarmFileBytesMax) return;
  found.error(ProblemKind::out_of_range, "farm",
              "the farm is " + std::to_string(bytes) + " bytes long with its included files, and above " +
                  std::to_string(kFarmFileBytesMax) +
                  ": use count and sources_per_readout instead of lists of sources");
}

}  // namespace weir::config
