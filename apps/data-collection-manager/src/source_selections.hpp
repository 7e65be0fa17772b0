#pragma once

#include <weir/assembly/assembler.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weir::dcm {

// Makes selections of sources for the steps of slices. Pure.
class SourceSelections {
 public:
  // `assembler` has the table of sources, and outlives this.
  SourceSelections(const assembly::Assembler& assembler, std::uint32_t readouts);

  [[nodiscard]] const std::shared_ptr<const assembly::Selection>& everything() const { return everything_; }
  // Ignores masked sources, which no readout serves.
  [[nodiscard]] std::shared_ptr<const assembly::Selection> select(std::span<const SourceId> sources) const;

  // Sets the sources that the farm file names for the step after each step, in the order of steps.
  void set_after_steps(const std::vector<std::vector<SourceId>>& sources);
  // Returns true if take_next() may return a selection.
  [[nodiscard]] bool has_next(const assembly::BuiltSlice& slice) const {
    return slice.gathering.hint != nullptr || slice.step < after_steps_.size();
  }
  // Returns the sources that the slice's next step will probably need, and clears the filter's hint; nullptr:
  // unknown.
  [[nodiscard]] std::shared_ptr<const assembly::Selection> take_next(assembly::BuiltSlice& slice) const;

 private:
  const assembly::Assembler& assembler_;
  std::uint32_t readouts_;
  std::shared_ptr<const assembly::Selection> everything_;
  std::vector<std::shared_ptr<const assembly::Selection>> after_steps_;
};

}  // namespace weir::dcm
