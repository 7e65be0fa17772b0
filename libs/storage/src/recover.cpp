#include "mapped_file.hpp"
#include "open_file.hpp"
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

constexpr std::string_view kRecoveringSuffix = ".recovering";

Unexpected<Failure> refused(std::string sentence) {
  return Unexpected<Failure>({StorageError::io, std::move(sentence)});
}

// What the recovered file is wrong in; nothing should be.
std::string complaint_about(const std::string& path) {
  const auto file = RunFileReader::open(path);
  if (!file) return file.error().detail;
  if (!file->closed()) return path + ": " + file->note();
  const VerifyReport report = verify(*file);
  return report.sound() ? "" : report.problems.front().text;
}

std::string write(SystemCalls& calls, Recovery& recovery, const std::string& beside, const std::string& out) {
  std::unique_ptr<OpenFile> file;
  DiskOutcome outcome = OpenFile::create(calls, beside, file);
  if (outcome.error == ports::DiskError::exists) {
    return beside + " is there: another recovery is under way, or was cut off; then remove it";
  }
  if (!file) return outcome.detail;
  outcome = file->append(recovery.pieces);
  std::string complaint = outcome.detail;
  if (complaint.empty()) complaint = complaint_about(beside);
  if (complaint.empty()) complaint = file->publish(out).detail;
  // Where only the folder could not be synced the file has its final name already.
  if (!complaint.empty() && calls.unlink(beside) != 0 && errno == ENOENT) calls.unlink(out);
  return complaint;
}

}  // namespace

Expected<RecoveryReport, Failure> recover(const std::string& path, const std::string& out,
                                          SystemCalls& calls) {
  auto original = MappedFile::open(path);
  if (!original) return Unexpected<Failure>(original.error());
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::symlink_status(out, none))) {
    return refused(out + " is there, and nothing is overwritten: name another file with --out");
  }
  auto recovery = plan_recovery(original->bytes(), path);
  if (!recovery) return Unexpected<Failure>(recovery.error());
  std::string complaint = write(calls, *recovery, out + std::string(kRecoveringSuffix), out);
  if (!complaint.empty()) return refused(std::move(complaint));
  return std::move(recovery->report);
}

}  // namespace weir::storage
