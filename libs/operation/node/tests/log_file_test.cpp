#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/node/log_file.hpp>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace weir;
using namespace weir::node;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> files_of(const test::TemporaryFolder& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("a log of an earlier session is kept under another name, up to a number of files") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "dcm-0.log";
  std::ofstream(folder.path() / "dcm-01.log") << "another process\n";
  for (int session = 1; session <= 5; ++session) {
    close_log(path, 3);
    std::ofstream(path) << "session " << session << "\n";
  }
  CHECK(text_of(path) == "session 5\n");
  std::string kept;
  for (const auto& file : files_of(folder)) {
    if (file.filename().string().starts_with("dcm-0.2")) kept += text_of(file);
  }
  CHECK(kept.find("session 1") == kept.npos);
  for (const char* session : {"session 2", "session 3", "session 4"}) CHECK(kept.find(session) != kept.npos);
  CHECK(text_of(folder.path() / "dcm-01.log") == "another process\n");
}

TEST_CASE("an empty or missing log leaves no closed file") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "dcm-0.log";
  close_log(path, 3);
  std::ofstream(path).flush();
  close_log(path, 3);
  CHECK(files_of(folder).size() == 1);
}

TEST_CASE("a log that has grown too long is replaced, and no line is lost") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "dcm-0.log";
  const pid_t pid = ::fork();  // a child, because its standard error is replaced
  if (pid == 0) {
    const int log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(log, STDERR_FILENO);
    LogFile file(path, 1000, 100);
    for (int i = 0; i < 300; ++i) {
      const std::string line = "line " + std::to_string(1000 + i) + "\n";
      if (::write(STDERR_FILENO, line.data(), line.size()) < 0) ::_exit(1);
      file.look((i + 1) * LogFile::kEvery);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);
  std::string all;
  const auto files = files_of(folder);
  CHECK(files.size() == 4);
  for (const auto& file : files) {
    CHECK(std::filesystem::file_size(file) < 1100);
    all += text_of(file);
  }
  for (int i = 0; i < 300; ++i) CHECK(all.find("line " + std::to_string(1000 + i) + "\n") != all.npos);
}

TEST_CASE("a file that standard error does not go to is left alone") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "dcm-0.log";
  std::ofstream(path) << std::string(5000, 'x');
  LogFile file(path, 1000, 100);
  file.look(kSecond);
  CHECK(files_of(folder).size() == 1);
}
