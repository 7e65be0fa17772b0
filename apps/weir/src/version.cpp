#include <weir/run/version.hpp>

namespace weir::run {

const char* const kVersion = WEIR_VERSION;

}  // namespace weir::run
