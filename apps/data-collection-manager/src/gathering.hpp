#pragma once

#include <weir/assembly/assembler.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace weir::dcm {

// A set of sources, cut by readout; made once and shared by the slices that ask for it.
struct Selection {
  bool all = false;
  std::vector<assembly::SourceIndex> sources;
  std::vector<std::vector<SourceId>> by_readout;
};

// What one slice still wants of the readouts, and what they owe it.
struct Gathering {
  // One readout's part in it.
  struct Part {
    std::uint32_t next = 0;    // of the selection's sources of this readout, the first that was not asked for
    std::uint32_t offset = 0;  // of that source's fragment, the first byte that was not asked for
    bool again = false;        // some were asked for before: those that are here are left out
    std::uint32_t owed_fragments = 0;
    std::uint64_t owed_bytes = 0;  // charged to the shaper and not given back
  };

  assembly::Slice* slice = nullptr;
  std::shared_ptr<const Selection> selection;
  std::uint64_t order = 0;
  bool queued = false;
  std::vector<Part> parts;                    // by readout
  std::vector<std::uint32_t> wanting;         // readouts that something is to be asked of
  std::vector<assembly::RangeWanted> ranges;  // rests of fragments, first of all
};

}  // namespace weir::dcm
