#pragma once

#include <weir/base/ids.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace weir::assembly {

struct BuiltSlice;

// A source's place in the run's table of sources, sorted by id. A slice's own tables have the same order.
using SourceIndex = std::uint32_t;

// A set of sources, grouped by readout; made once and shared by the slices that request it.
struct Selection {
  bool all = false;
  std::vector<SourceIndex> sources;
  std::vector<std::vector<SourceId>> by_readout;
};

// The outstanding requests of one slice to the readouts: a part of BuiltSlice.
struct Gathering {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // One readout's part in it.
  struct Part {
    std::uint32_t next = 0;    // first unrequested source of the selection at this readout
    std::uint32_t offset = 0;  // first unrequested byte of that source's fragment
    bool again = false;        // some sources were requested before: arrived fragments are skipped
    bool wanted = false;       // something is to be asked for: the slice is in the readout's list of wants
    std::uint32_t owed_fragments = 0;
    std::uint64_t owed_bytes = 0;       // charged to the shaper and not given back
    std::uint32_t first_range = kNone;  // rests of fragments, asked for first of all: of Gathering::ranges
    std::uint32_t last_range = kNone;
    std::uint64_t range_bytes = 0;  // of the ranges
    BuiltSlice* older = nullptr;    // in that list
    BuiltSlice* newer = nullptr;
  };
  // A range of bytes of one fragment.
  struct Range {
    SourceIndex source = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t next = kNone;  // of the same readout
  };

  // True if requests for it are, or were, pending.
  [[nodiscard]] bool has_begun() const { return selection != nullptr; }
  void begin(std::uint32_t readouts, std::shared_ptr<const Selection> asked, std::uint64_t place);
  // Returns the unrequested ranges of sources for which `wanted` is true: begin() drops them.
  template <class Wanted>
  [[nodiscard]] std::vector<Range> ranges_to_keep(Wanted wanted) const {
    std::vector<Range> kept;
    for (const Part& part : parts) {
      for (std::uint32_t at = part.first_range; at != kNone; at = ranges[at].next) {
        if (wanted(ranges[at].source)) kept.push_back(ranges[at]);
      }
    }
    return kept;
  }
  void end();
  void clear_ranges();
  void add_range(std::uint32_t readout, const Range& range);
  void drop_first_range(std::uint32_t readout);
  // The first bytes of it, up to this number, are requested.
  void take_from_first_range(std::uint32_t readout, std::uint32_t bytes);

  std::vector<Part> parts;                     // by readout
  std::shared_ptr<const Selection> selection;  // of this step
  std::shared_ptr<const Selection> next;       // of the next step, which begins when memory is available
  std::shared_ptr<const Selection> hint;       // of the sources that the filter expects to need next
  bool ahead = false;                          // `selection` is requested ahead
  std::size_t next_bytes = 0;                  // memory that this step is expected to take
  std::uint64_t order = 0;                     // the oldest first: the slice's id
  std::vector<Range> ranges;
  std::uint32_t ranges_left = 0;
};

}  // namespace weir::assembly
