#include "simulated_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace weir::storage::test {
namespace {

constexpr std::size_t kSector = 512;

void write_file(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

SimulatedFiles::SimulatedFiles(std::string folder, Publishing publishing)
    : folder_(std::move(folder)), publishing_(publishing) {}

SimulatedFiles::~SimulatedFiles() {
  for (const auto& [descriptor, file] : open_) real_.close(descriptor);
}

void SimulatedFiles::plan(Plan faults, std::uint64_t seed) {
  plan_ = std::move(faults);
  calls_ = 0;
  random_.seed(seed);
}

SimulatedFiles::Fault SimulatedFiles::begin() {
  if (stopped_) return Fault::stop;
  const auto planned = plan_.find(calls_++);
  if (std::exchange(full_, false)) return Fault::no_space;
  if (planned == plan_.end()) return Fault::none;
  full_ = planned->second == Fault::short_then_full;
  stopped_ = planned->second == Fault::stop || planned->second == Fault::stop_within;
  return planned->second;
}

bool SimulatedFiles::fails(Fault fault) {
  errno = fault == Fault::no_space ? ENOSPC : EIO;
  return fault == Fault::no_space || fault == Fault::io || fault == Fault::stop ||
         fault == Fault::stop_within;
}

int SimulatedFiles::create(const std::string& path) {
  if (fails(begin())) return -1;
  const int descriptor = real_.create(path);
  if (descriptor < 0) return descriptor;
  const auto file = std::make_shared<File>();
  open_[descriptor] = names_[path] = file;
  unsynced_names_.push_back({"", path, file});
  return descriptor;
}

int SimulatedFiles::open_directory(const std::string& path) {
  if (fails(begin())) return -1;
  const int descriptor = real_.open_directory(path);
  if (descriptor >= 0) open_[descriptor] = nullptr;
  return descriptor;
}

int SimulatedFiles::open_existing(const std::string& path) {
  if (fails(begin())) return -1;
  const int descriptor = real_.open_existing(path);
  if (descriptor >= 0) open_[descriptor] = names_.at(path);
  return descriptor;
}

ssize_t SimulatedFiles::pwritev(int descriptor, const iovec* pieces, int count, off_t offset) {
  const bool over = stopped_;
  const Fault fault = begin();
  const bool failed = fails(fault);
  if (failed && (over || fault != Fault::stop_within)) return -1;
  Bytes bytes;
  for (int i = 0; i < count; ++i) {
    const char* from = static_cast<const char*>(pieces[i].iov_base);
    bytes.insert(bytes.end(), from, from + pieces[i].iov_len);
  }
  if (fault != Fault::none && !bytes.empty())
    bytes.resize(std::max<std::size_t>(1, random_() % bytes.size()));
  const iovec part{bytes.data(), bytes.size()};
  const ssize_t written = real_.pwritev(descriptor, &part, 1, offset);
  if (written > 0) open_.at(descriptor)->unsynced.push_back({static_cast<std::size_t>(offset), bytes});
  if (!failed) return written;
  errno = EIO;
  return -1;
}

int SimulatedFiles::ftruncate(int descriptor, off_t size) {
  if (fails(begin())) return -1;
  const int result = real_.ftruncate(descriptor, size);
  if (result == 0) open_.at(descriptor)->unsynced.push_back({static_cast<std::size_t>(size), {}});
  return result;
}

int SimulatedFiles::sync(int descriptor) {
  const bool over = stopped_;
  const Fault fault = begin();
  const std::shared_ptr<File> file = open_.at(descriptor);
  if (fails(fault)) {
    const int error = errno;
    if (file && !over && !stopped_) apply_some(*file, false);
    errno = error;
    return -1;
  }
  if (file) {
    apply_some(*file, true);
  } else {
    for (const Rename& change : unsynced_names_) rename_in(names_on_disk_, change);
    unsynced_names_.clear();
  }
  return 0;
}

// Afterwards no change of the file waits for a sync, whether it reached the disk or was lost.
void SimulatedFiles::apply_some(File& file, bool every) {
  for (const Change& change : file.unsynced) {
    if (change.bytes.empty()) {
      if (every || chance()) file.on_disk.resize(change.at);
      continue;
    }
    for (std::size_t from = 0; from < change.bytes.size();) {
      const std::size_t to = std::min(change.bytes.size(), from + kSector - (change.at + from) % kSector);
      if (every || chance()) {
        file.on_disk.resize(std::max(file.on_disk.size(), change.at + to));
        std::copy(change.bytes.begin() + static_cast<std::ptrdiff_t>(from),
                  change.bytes.begin() + static_cast<std::ptrdiff_t>(to),
                  file.on_disk.begin() + static_cast<std::ptrdiff_t>(change.at + from));
      } else if (chance()) {  // the file has grown, but its bytes were lost
        file.on_disk.resize(std::max(file.on_disk.size(), change.at + to));
      }
      from = to;
    }
  }
  file.unsynced.clear();
}

// Clean pages are dropped, so that the next read comes from the disk.
int SimulatedFiles::drop_cache(int descriptor) {
  if (stopped_) return 0;
  for (const auto& [path, file] : names_) {
    if (file == open_.at(descriptor) && file->unsynced.empty()) write_file(path, file->on_disk);
  }
  return 0;
}

void SimulatedFiles::rename_in(Names& names, const Rename& change) {
  if (!change.from.empty()) names.erase(change.from);
  if (!change.to.empty()) names[change.to] = change.file;
}

int SimulatedFiles::rename_noreplace(const std::string& from, const std::string& to) {
  if (fails(begin())) return -1;
  if (publishing_ != Publishing::by_rename) {
    errno = EINVAL;
    return -1;
  }
  return note_rename(real_.rename_noreplace(from, to), from, to);
}

int SimulatedFiles::rename(const std::string& from, const std::string& to) {
  if (fails(begin())) return -1;
  return note_rename(real_.rename(from, to), from, to);
}

int SimulatedFiles::note_rename(int result, const std::string& from, const std::string& to) {
  if (result != 0) return result;
  unsynced_names_.push_back({from, to, names_.at(from)});
  rename_in(names_, unsynced_names_.back());
  return 0;
}

int SimulatedFiles::link(const std::string& from, const std::string& to) {
  if (fails(begin())) return -1;
  if (publishing_ == Publishing::by_neither) {
    errno = EPERM;
    return -1;
  }
  const int result = real_.link(from, to);
  if (result != 0) return result;
  unsynced_names_.push_back({"", to, names_.at(from)});
  rename_in(names_, unsynced_names_.back());
  return 0;
}

int SimulatedFiles::unlink(const std::string& path) {
  if (fails(begin())) return -1;
  const int result = real_.unlink(path);
  if (result != 0) return result;
  unsynced_names_.push_back({path, "", nullptr});
  rename_in(names_, unsynced_names_.back());
  return 0;
}

int SimulatedFiles::close(int descriptor) {
  const bool failed = fails(begin());
  const int error = errno;
  real_.close(descriptor);
  open_.erase(descriptor);
  errno = error;
  return failed ? -1 : 0;
}

void SimulatedFiles::crash(Loss loss) {
  for (const auto& [descriptor, file] : open_) real_.close(descriptor);
  open_.clear();
  plan_.clear();
  stopped_ = full_ = false;
  if (loss == Loss::nothing) return;
  for (const Rename& change : unsynced_names_) {
    if (loss == Loss::any_part && chance()) rename_in(names_on_disk_, change);
  }
  unsynced_names_.clear();
  for (const auto& [path, file] : names_) std::filesystem::remove(path);
  names_ = names_on_disk_;
  std::map<std::shared_ptr<File>, std::string> written;
  for (const auto& [path, file] : names_) {
    const auto [first, added] = written.emplace(file, path);
    if (!added) {
      std::filesystem::create_hard_link(first->second, path);
      continue;
    }
    if (loss == Loss::any_part) apply_some(*file, false);
    file->unsynced.clear();
    write_file(path, file->on_disk);
  }
}

}  // namespace weir::storage::test
