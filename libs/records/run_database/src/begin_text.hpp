#pragma once

#include "flat.hpp"
#include <weir/base/time.hpp>
#include <weir/run_record/run_fields.hpp>

#include <optional>
#include <string>

namespace weir::run_database {

// A begin record without its nodes and its configuration.
struct BeginText {
  std::string farm;
  UtcNs begin_utc_ns = 0;
  run_record::RunFields fields;
  Flat parts;  // versions, plugins, recordings: "filter.crc32c" -> "0123abcd"
};
// Returns nothing if the text is not a begin record.
[[nodiscard]] std::optional<BeginText> read_begin(const std::string& text);
// Returns a file's content; nothing if it cannot be read.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);

}  // namespace weir::run_database
