#include <weir/base/assert.hpp>
#include <weir/ingest/folder_index.hpp>

// Any text is either an index with all fragments inside their files, or an error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto index = weir::ingest::parse_folder_index(text, "index.json");
  if (!index) {
    WEIR_ASSERT(!index.error().detail.empty());
    return 0;
  }
  for (const auto& slice : index->slices) {
    for (const auto& fragment : slice.fragments) {
      WEIR_ASSERT(fragment.length <= slice.bytes && fragment.offset <= slice.bytes - fragment.length);
    }
  }
  return 0;
}
