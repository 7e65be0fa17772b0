#include <weir/ingest/recorded_run.hpp>
#include <weir/node/recordings.hpp>

#include <utility>

namespace weir::node {

Expected<config::ReplayContents, std::string> read_recording(const std::string& path) {
  auto found = ingest::look_into(path);
  if (!found) return Unexpected<std::string>(std::move(found.error().detail));
  return config::ReplayContents{std::move(found->sources), found->slices, found->slice_bytes_max,
                                found->fragment_bytes_max};
}

}  // namespace weir::node
