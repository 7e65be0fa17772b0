#pragma once

#include "builder.hpp"
#include "push_admission.hpp"
#include "slice_router.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace weir::dcm {

// The sources of the first step of a trigger type that has its own.
struct TypeSources {
  std::uint32_t type;
  std::vector<SourceId> sources;
};

// Opens assigned slices in order of assignment, if memory has room, and requests the sources of their first
// step. Pure.
class SliceAdmission {
 public:
  // `pushing`: null in pull running.
  SliceAdmission(const std::vector<TypeSources>& types, Builder& builder, PushAdmission* pushing,
                 SliceRouter& router);

  void assign(std::vector<assembly::AssignedSlice> assigned);
  // Sets the first step's sources for trigger types without their own; if not called: all sources.
  void ask_first_for(std::span<const SourceId> sources) { first_ = builder_.collector.select(sources); }
  // Slices that a DCM keeps are fetched from there, and every slice is requested whole.
  void fetch_kept() { fetches_ = true; }
  // True if some slices begin with fewer than all sources.
  [[nodiscard]] bool first_step_is_part() const { return first_ != nullptr || !of_type_.empty(); }
  // Once a pass, while a run is on.
  void open_assigned(TimeNs now_ns);

  [[nodiscard]] std::uint64_t assigned() const { return assigned_; }
  // Assigned and not released.
  [[nodiscard]] std::size_t in_flight() const;

 private:
  void open(assembly::BuiltSlice& slice, TimeNs now_ns);
  void block(assembly::BuiltSlice& slice);
  // Returns the next assigned slice to open; null: none is assigned, or an older one waits for memory.
  [[nodiscard]] assembly::BuiltSlice* next_assigned();
  [[nodiscard]] std::shared_ptr<const assembly::Selection> first_of(const assembly::BuiltSlice& slice) const;

  Builder& builder_;
  PushAdmission* pushing_;
  SliceRouter& router_;
  std::shared_ptr<const assembly::Selection> first_;
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<const assembly::Selection>> of_type_;
  std::uint64_t assigned_ = 0;
  bool fetches_ = false;
};

}  // namespace weir::dcm
