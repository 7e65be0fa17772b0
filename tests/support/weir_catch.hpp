#pragma once

// Catch2 version 2 (Debian 12) or 3 (Ubuntu 24.04, backports) under one include.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
// Catch2 version 3 moved these names; the tests use version 2's.
namespace Catch {
using Matchers::ContainsSubstring;
}
using Catch::Approx;
#else
#include <catch2/catch.hpp>
namespace Catch::Matchers {
// Version 3's name for version 2's string matcher Contains.
inline auto ContainsSubstring(const std::string& text,
                              CaseSensitive::Choice case_sensitivity = CaseSensitive::Yes) {
  return Contains(text, case_sensitivity);
}
}  // namespace Catch::Matchers
namespace Catch {
using Matchers::ContainsSubstring;
}
#endif
