#include "soak.hpp"

#include "weir_catch.hpp"

#include <cstdlib>

namespace weir::system_test {
namespace {

void check_files(const TemporaryFolder& folder, const std::string& out) {
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    std::string path = entry.path().string();
    if (path.ends_with(".part")) {
      const std::string whole = path.substr(0, path.size() - 5) + ".recovered";
      const CommandEnd recovered = run_command(folder, "weir", {"file", "recover", path, "--out", whole});
      INFO(recovered.out << recovered.err);
      CHECK(recovered.status == 0);
      path = whole;
    } else if (!path.ends_with(".weir")) {
      continue;
    }
    const CommandEnd verified = run_command(folder, "weir", {"file", "verify", path});
    INFO(path << "\n" << verified.out << verified.err);
    CHECK(verified.status == 0);
    if (path.ends_with(".recovered")) std::filesystem::remove(path);
  }
}

}  // namespace

int from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

DummyCheck check_all_stored(const TemporaryFolder& folder, const FarmEnd& end, const std::string& out) {
  INFO(describe(end));
  CHECK(end.summary.imbalance() == "");
  CHECK(end.summary.balanced());
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(end.summary.count("rejected") == 0);
  const std::uint64_t stored = end.summary.count("stored");
  CHECK(stored > 0);
  CHECK(end.summary.count("triggered") == stored);
  DummyCheck check;
  {
    const StoredRun run(out);
    CHECK(run.ids().size() == stored);
    check = check_dummy_data(run);
    CHECK(check.wrong == "");
    CHECK(check.slices == stored);
  }
  check_files(folder, out);
  return check;
}

}  // namespace weir::system_test
