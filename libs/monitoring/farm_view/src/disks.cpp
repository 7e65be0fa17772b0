#include <weir/base/text.hpp>
#include <weir/farm_view/disks.hpp>

#include <cstddef>
#include <utility>

namespace weir::farm_view {

std::vector<control::DiskUse> disks_of(const v1::FarmView& view) {
  constexpr std::size_t kTextBytesMax = 500;
  std::vector<control::DiskUse> uses;
  for (const v1::FarmView::Disk& disk : view.disks()) {
    if (disk.total_bytes() == 0) continue;
    control::DiskUse use;
    for (const std::string& process : disk.processes())
      use.processes.push_back(clean_text(process, kTextBytesMax));
    use.host = clean_text(disk.host(), kTextBytesMax);
    use.folder = clean_text(disk.folder(), kTextBytesMax);
    use.space = {disk.free_bytes(), disk.total_bytes()};
    use.fill_per_s = disk.fill_per_s();
    if (disk.left_s() > 0) use.left = static_cast<DurationNs>(disk.left_s() * kSecond);
    use.is_short = disk.is_short();
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace weir::farm_view
