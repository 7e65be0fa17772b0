#pragma once

#include "weir_catch.hpp"

namespace weir {
#if defined(CATCH_VERSION_MAJOR) && CATCH_VERSION_MAJOR == 2
using Catch::Detail::Approx;
#else
using Catch::Approx;
#endif
}  // namespace weir
