#include "web.hpp"
#include "weir_catch.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

using namespace weir::run_control;
using Catch::ContainsSubstring;

TEST_CASE("a page's token is made once, stays, and is too long to be guessed") {
  const std::string file = (std::filesystem::temp_directory_path() / "weir-page-token-test").string();
  std::filesystem::remove(file);
  const std::string token = page_token(file);
  CHECK(token.size() == 64);
  CHECK(page_token(file) == token);
  std::ofstream(file) << "my-own-token-0123\n";
  CHECK(page_token(file) == "my-own-token-0123");
  for (const char* bad : {"sesame\n", "123456789012345", ""}) {
    INFO(bad);
    std::ofstream(file) << bad;
    CHECK_THROWS_AS(page_token(file), std::runtime_error);
  }
  std::filesystem::remove(file);
}
