#include <weir/base/assert.hpp>
#include <weir/histograms/contents.hpp>

namespace weir::histograms {

void Contents::set_layout(Layout layout) {
  WEIR_ASSERT(layout.all().size() >= layout_.all().size());
  layout_ = std::move(layout);
  cells_.resize(layout_.cells());
  changed_.resize(layout_.all().size(), true);
}

void Contents::add(std::span<const Addition> additions) {
  for (const Addition& one : additions) {
    WEIR_ASSERT(one.cell < cells_.size());
    cells_[one.cell] += one.amount;
    changed_[layout_.owner_of(one.cell)] = true;
  }
}

void Contents::add(const Contents& other) {
  WEIR_ASSERT(other.cells_.size() == cells_.size());
  for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i] += other.cells_[i];
  set_all_changed();
}

}  // namespace weir::histograms
