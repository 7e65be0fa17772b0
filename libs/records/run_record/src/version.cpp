#include <weir/run_record/version.hpp>

namespace weir::run_record {

const char* const kVersion = WEIR_VERSION;

}  // namespace weir::run_record
