#pragma once

#include <weir/base/time.hpp>
#include <weir/run_record/run_fields.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Fields of runs that are added after their start: lines of JSON in a file that only grows, beside the
// records.
namespace weir::run_record {

struct Annotation {
  std::uint32_t run = 0;
  UtcNs utc_ns = 0;
  std::string by;
  RunFields fields;
};

// Returns the path of the annotations in a folder of records.
[[nodiscard]] std::string annotations_path(const std::string& out);
// Returns the line without its end.
[[nodiscard]] std::string to_line(const Annotation& annotation);
// Returns nothing if the line is not an annotation, as after an incomplete write.
[[nodiscard]] std::optional<Annotation> read_annotation(std::string_view line);
// Appends the annotation of a run that has a begin record in `out`. Returns an error for people; empty: the
// file has the line. `types`: as of check_fields().
[[nodiscard]] std::string add_annotation(const std::string& out, const Annotation& annotation,
                                         const std::vector<std::string>& types);

}  // namespace weir::run_record
