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
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // One readout's part in it.
  struct Part {
    std::uint32_t next = 0;    // of the selection's sources of this readout, the first that was not asked for
    std::uint32_t offset = 0;  // of that source's fragment, the first byte that was not asked for
    bool again = false;        // some were asked for before: those that are here are left out
    bool wanted = false;       // something is to be asked for; Wants
    std::uint32_t owed_fragments = 0;
    std::uint64_t owed_bytes = 0;       // charged to the shaper and not given back
    std::uint32_t first_range = kNone;  // rests of fragments, asked for first of all: of Gathering::ranges
    std::uint32_t last_range = kNone;
    std::uint64_t range_bytes = 0;  // of them
    Gathering* older = nullptr;     // of those that want something of this readout; Wants
    Gathering* newer = nullptr;
  };
  struct Range {
    assembly::RangeWanted wanted;
    std::uint32_t next = kNone;  // of the same readout
  };

  void clear_ranges();
  void add_range(std::uint32_t readout, const assembly::RangeWanted& wanted);
  void drop_first_range(std::uint32_t readout);

  assembly::Slice* slice = nullptr;
  std::shared_ptr<const Selection> selection;
  std::uint64_t order = 0;
  std::vector<Part> parts;  // by readout
  std::vector<Range> ranges;
  std::uint32_t ranges_left = 0;
};

// Which slices want something of which readout: for each readout a list in the order of starting. Whatever is
// changed or looked at costs the same, however many slices and readouts there are.
class Wants {
 public:
  explicit Wants(std::uint32_t readouts) : lists_(readouts) {}

  // Does nothing where it is wanted already. What comes back is among the oldest.
  void add(Gathering& gathering, std::uint32_t readout);
  void remove(Gathering& gathering, std::uint32_t readout);
  void remove_all_of(std::uint32_t readout);
  [[nodiscard]] Gathering* oldest(std::uint32_t readout) const { return lists_[readout].oldest; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  // Those that joined the readout's list since the last call, or since look_again(), and are before `order`.
  template <class Visit>
  void look_at_new(std::uint32_t readout, std::uint64_t order, Visit visit) {
    Gathering*& next = lists_[readout].next;
    for (; next != nullptr && next->order < order; next = next->parts[readout].newer) visit(*next);
  }
  void look_again(std::uint32_t readout) { lists_[readout].next = lists_[readout].oldest; }

 private:
  struct List {
    Gathering* oldest = nullptr;
    Gathering* newest = nullptr;
    Gathering* next = nullptr;  // the first that was not looked at
  };
  std::vector<List> lists_;
  std::size_t size_ = 0;
};

}  // namespace weir::dcm
