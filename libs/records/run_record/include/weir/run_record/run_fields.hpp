#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

// Descriptions of a run by its operators: comment, type, shifter, quality, and fields of their own. Pure.
namespace weir::run_record {

using RunFields = std::map<std::string, std::string>;  // by name; empty values are absent

namespace field {
inline constexpr char kComment[] = "comment";
inline constexpr char kType[] = "type";
inline constexpr char kShifter[] = "shifter";
inline constexpr char kQuality[] = "quality";  // good, questionable, bad
}  // namespace field

inline constexpr std::size_t kFieldsMax = 32;
inline constexpr std::size_t kFieldNameMax = 64;
inline constexpr std::size_t kFieldBytesMax = 2000;

// Returns why these cannot be fields of a run, as a sentence; empty: they can. `types`: allowed values of the
// type; empty: any.
[[nodiscard]] std::string check_fields(const RunFields& fields, const std::vector<std::string>& types);
// Returns which required fields are missing, as a sentence; empty: none.
[[nodiscard]] std::string missing_fields(const RunFields& fields, const std::vector<std::string>& required);
// Returns a copy without empty values, each on one line of well-formed UTF-8.
[[nodiscard]] RunFields cleaned(const RunFields& fields);
// Returns the fields that a run takes over from the run before when no operator starts it: all except comment
// and quality.
[[nodiscard]] RunFields inherited(const RunFields& fields);
// Applies an annotation: its values replace earlier ones, a comment is added to earlier ones, and an empty
// value removes a field.
void annotate(const RunFields& annotation, RunFields& fields);

}  // namespace weir::run_record
