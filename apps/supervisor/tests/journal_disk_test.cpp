// The journal on a separate disk; needs root.
#include "small_disk.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/supervisor/journal_store.hpp>

namespace weir::supervisor {

TEST_CASE("a journal has room on a disk that others have filled") {
  const test::TemporaryFolder folder;
  const test::SmallDisk disk(folder / "disk", 4);
  if (!disk.mounted()) return;
  const std::string path = folder / "disk/journal";
  const std::vector<std::byte> entry(1000);
  auto file = make_journal_file(path);
  REQUIRE(file->replace(entry));
  // The place is not part of the file.
  CHECK(make_journal_file(path)->read().value() == entry);
  for (int i = 0; i < 1000; ++i) REQUIRE(file->append(entry));  // the reserved space grows with it
  disk.fill_up();
  for (int i = 0; i < 500; ++i) REQUIRE(file->append(entry));
  CHECK_FALSE(file->no_room());
  // The disk is not unlimited.
  Expected<void, std::string> result;
  for (int i = 0; result && i < 2000; ++i) result = file->append(entry);
  CHECK_FALSE(result);
  CHECK(file->no_room());
  CHECK(make_journal_file(path)->read().value().size() % entry.size() == 0);
  disk.make_room();
  CHECK(file->append(entry));
}

}  // namespace weir::supervisor
