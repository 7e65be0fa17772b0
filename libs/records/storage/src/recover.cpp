#include "mapped_file.hpp"
#include "open_file.hpp"
#include "recovery_owner.hpp"
#include <weir/storage/recover.hpp>
#include <weir/storage/run_file_reader.hpp>
#include <weir/storage/verify.hpp>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace weir::storage {
namespace {

Unexpected<StorageFailure> refused(std::string sentence) {
  return Unexpected<StorageFailure>({StorageError::io, std::move(sentence)});
}

namespace fs = std::filesystem;

// Resolves links in the folders of both files. If the folders are the same, both files are in it even if a
// link is moved meanwhile.
std::pair<std::string, std::string> resolved(const std::string& path, const std::string& out) {
  const auto folder_of = [](const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
  };
  const auto resolve = [](const fs::path& folder) {
    std::error_code error;
    const fs::path found = fs::canonical(folder, error);
    return error ? folder : found;
  };
  const fs::path from = folder_of(path);
  const fs::path to = folder_of(out);
  const fs::path from_resolved = resolve(from);
  const fs::path to_resolved = from == to ? from_resolved : resolve(to);
  return {from_resolved / fs::path(path).filename(), to_resolved / fs::path(out).filename()};
}

// If files are published without an exclusive rename (rename_to_new), a crash leaves an empty file.
bool is_placeholder(const std::string& path) {
  std::error_code none;
  return fs::is_regular_file(fs::symlink_status(path, none)) && fs::file_size(path, none) == 0;
}

bool is_taken(const std::string& path) {
  std::error_code none;
  return fs::exists(fs::symlink_status(path, none)) && !is_placeholder(path);
}

// Returns the first fault of the recovered file, or an empty string, which is expected.
std::string complaint_about(const std::string& path) {
  const auto file = RunFileReader::open(path);
  if (!file) return file.error().detail;
  if (!file->closed()) return path + ": " + file->note();
  const VerifyReport report = verify(*file);
  return report.sound() ? "" : report.problems.front().text;
}

// Of two processes that pass the check at the same time, the second cannot publish its file.
std::string write(SystemCalls& calls, Recovery& recovery, const std::string& out) {
  if (std::string other = clear_recoveries(calls, out); !other.empty()) return other;
  const std::string beside = own_recovery(out);
  std::unique_ptr<OpenFile> file;
  DiskOutcome outcome = OpenFile::create(calls, beside, file);
  if (!file) return outcome.detail;
  outcome = file->append(recovery.pieces);
  std::string complaint = outcome.detail;
  if (complaint.empty()) complaint = complaint_about(beside);
  if (complaint.empty() && is_placeholder(out)) calls.unlink(out);
  if (complaint.empty()) complaint = file->publish(out).detail;
  // If only the folder could not be synced, the file has its final name already.
  if (!complaint.empty() && calls.unlink(beside) != 0 && errno == ENOENT) calls.unlink(out);
  return complaint;
}

// The file is whole under the name `out`: a publishing was cut off before it took the old name away.
Expected<RecoveryReport, StorageFailure> finish_publishing(SystemCalls& calls, const std::string& from,
                                                           const std::string& out, RecoveryReport report) {
  if (std::string complaint = complaint_about(out); !complaint.empty()) return refused(std::move(complaint));
  int error = calls.unlink(from) == 0 ? 0 : errno;
  if (error == 0) error = sync_directory_of(calls, from);
  if (error != 0) {
    return refused(from +
                   ": cannot remove the second name of the file: " + std::generic_category().message(error));
  }
  report.published = true;
  report.bytes_out = report.bytes_in;
  return report;
}

}  // namespace

Expected<RecoveryReport, StorageFailure> recover(const std::string& path, const std::string& wanted,
                                                 SystemCalls& calls) {
  const auto [from, out] = resolved(path, wanted);
  auto original = MappedFile::open(from);
  if (!original) return Unexpected<StorageFailure>(original.error());
  const bool same = from != out && is_same_file(calls, from, out);
  if (is_taken(out) && !same) {
    return refused(out + " exists and is not overwritten: name another file with --out");
  }
  auto recovery = plan_recovery(original->bytes(), path);
  if (!recovery) return Unexpected<StorageFailure>(recovery.error());
  if (same) return finish_publishing(calls, from, out, std::move(recovery->report));
  std::string complaint = write(calls, *recovery, out);
  if (!complaint.empty()) return refused(std::move(complaint));
  return std::move(recovery->report);
}

}  // namespace weir::storage
