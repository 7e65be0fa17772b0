#include "source_selections.hpp"

#include <algorithm>
#include <utility>

namespace weir::dcm {

using assembly::Selection;
using assembly::SourceIndex;

SourceSelections::SourceSelections(const assembly::Assembler& assembler, std::uint32_t readouts)
    : assembler_(assembler), readouts_(readouts) {
  auto all = std::make_shared<Selection>();
  all->all = true;
  all->by_readout.resize(readouts_);
  for (SourceIndex i = 0; i < assembler_.sources().size(); ++i) {
    const assembly::SourceInfo& source = assembler_.sources()[i];
    all->sources.push_back(i);
    all->by_readout[source.readout].push_back(source.id);
  }
  everything_ = std::move(all);
}

std::shared_ptr<const Selection> SourceSelections::select(std::span<const SourceId> sources) const {
  auto selection = std::make_shared<Selection>();
  selection->by_readout.resize(readouts_);
  for (const SourceId source : sources) {
    const auto index = assembler_.index_of(source);
    if (!index) continue;
    selection->sources.push_back(*index);
    selection->by_readout[assembler_.sources()[*index].readout].push_back(source);
  }
  return selection;
}

void SourceSelections::set_after_steps(const std::vector<std::vector<SourceId>>& sources) {
  after_steps_.clear();
  for (const std::vector<SourceId>& after : sources) after_steps_.push_back(select(after));
}

std::shared_ptr<const Selection> SourceSelections::take_next(assembly::BuiltSlice& slice) const {
  std::shared_ptr<const Selection> hint = std::exchange(slice.gathering.hint, nullptr);
  if (slice.step >= after_steps_.size() || after_steps_[slice.step]->sources.empty()) return hint;
  const std::shared_ptr<const Selection>& named = after_steps_[slice.step];
  if (hint == nullptr) return named;
  std::vector<SourceId> both;
  for (const Selection* part : {hint.get(), named.get()}) {
    for (const SourceIndex source : part->sources) both.push_back(assembler_.sources()[source].id);
  }
  std::sort(both.begin(), both.end());
  both.erase(std::unique(both.begin(), both.end()), both.end());
  return select(both);
}

}  // namespace weir::dcm
