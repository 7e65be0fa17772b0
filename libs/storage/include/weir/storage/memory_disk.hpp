#pragma once

#include <weir/ports/disk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::storage {

// ports::Disk in memory, for tests: nothing happens until a step is asked for, and each can be made to fail.
class MemoryDisk final : public ports::Disk {
 public:
  struct File {
    std::vector<std::byte> bytes;
    std::size_t synced = 0;  // what a crash leaves, at least
  };

  // All files together; an append that does not fit writes what does, as a real disk.
  std::uint64_t capacity = UINT64_MAX;
  // The operation with this number (from 0, in the order they are carried out) fails so.
  std::optional<std::uint64_t> fail_at;
  ports::DiskError fail_with = ports::DiskError::io;

  void create(ports::FileId file, const std::string& path, std::uint64_t token) override {
    queue_.push_back({Kind::create, file, token, path, {}, {}, 0});
  }
  void append(ports::FileId file, std::vector<ConstBytes> pieces, std::shared_ptr<const void> owner,
              std::uint64_t token) override {
    queue_.push_back({Kind::append, file, token, {}, std::move(pieces), std::move(owner), 0});
  }
  void sync(ports::FileId file, std::uint64_t token) override {
    queue_.push_back({Kind::sync, file, token, {}, {}, {}, 0});
  }
  void truncate(ports::FileId file, std::uint64_t size, std::uint64_t token) override {
    queue_.push_back({Kind::truncate, file, token, {}, {}, {}, size});
  }
  void publish(ports::FileId file, const std::string& final_path, std::uint64_t token) override {
    queue_.push_back({Kind::publish, file, token, final_path, {}, {}, 0});
  }

  // Carries out the oldest operation and delivers its event. False: there was none.
  bool step(ports::DiskHandler& handler) {
    if (queue_.empty()) return false;
    Operation operation = std::move(queue_.front());
    queue_.pop_front();
    const ports::DiskError error = carry_out(operation);
    ++operations_;
    std::string detail;
    if (error != ports::DiskError::none) detail = "memory disk: " + std::string(name(error));
    handler.on_disk_event({operation.file, operation.token, error, detail});
    return true;
  }
  void run(ports::DiskHandler& handler) {
    while (step(handler)) {
    }
  }

  [[nodiscard]] const std::map<std::string, File>& files() const { return files_; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t appends() const { return appends_; }
  [[nodiscard]] std::uint64_t syncs() const { return syncs_; }
  [[nodiscard]] std::size_t pending() const { return queue_.size(); }
  [[nodiscard]] std::uint64_t bytes_used() const {
    std::uint64_t bytes = 0;
    for (const auto& [path, file] : files_) bytes += file.bytes.size();
    return bytes;
  }

 private:
  enum class Kind : std::uint8_t { create, append, sync, truncate, publish };
  struct Operation {
    Kind kind;
    ports::FileId file;
    std::uint64_t token;
    std::string path;
    std::vector<ConstBytes> pieces;
    std::shared_ptr<const void> owner;
    std::uint64_t size;
  };
  struct Open {
    std::string path;
    ports::DiskError error = ports::DiskError::none;
  };

  ports::DiskError carry_out(const Operation& operation) {
    const bool fails = fail_at == operations_;
    if (operation.kind == Kind::create) {
      if (fails) return fail_with;
      if (!files_.try_emplace(operation.path).second) return ports::DiskError::exists;
      open_[operation.file] = {operation.path, ports::DiskError::none};
      return ports::DiskError::none;
    }
    const auto found = open_.find(operation.file);
    if (found == open_.end()) return ports::DiskError::not_found;
    Open& open = found->second;
    if (operation.kind == Kind::truncate) open.error = ports::DiskError::none;
    if (fails) open.error = fail_with;
    if (open.error != ports::DiskError::none) return open.error;
    const ports::DiskError error = change(open, operation);
    if (operation.kind == Kind::publish && error == ports::DiskError::none) {
      open_.erase(found);
    } else {
      open.error = error;
    }
    return error;
  }

  ports::DiskError change(Open& open, const Operation& operation) {
    File& file = files_[open.path];
    switch (operation.kind) {
      case Kind::append:
        ++appends_;
        return write(file, operation.pieces);
      case Kind::truncate:
        file.bytes.resize(operation.size);
        file.synced = std::min(file.synced, file.bytes.size());
        return ports::DiskError::none;
      case Kind::publish:
        if (files_.contains(operation.path)) return ports::DiskError::exists;
        file.synced = file.bytes.size();
        files_[operation.path] = std::move(file);
        files_.erase(open.path);
        return ports::DiskError::none;
      default:
        ++syncs_;
        file.synced = file.bytes.size();
        return ports::DiskError::none;
    }
  }

  ports::DiskError write(File& file, const std::vector<ConstBytes>& pieces) const {
    std::uint64_t room = capacity - std::min(capacity, bytes_used());
    for (const ConstBytes piece : pieces) {
      const auto fits = static_cast<std::size_t>(std::min<std::uint64_t>(room, piece.size()));
      file.bytes.insert(file.bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(fits));
      room -= fits;
      if (fits < piece.size()) return ports::DiskError::no_space;
    }
    return ports::DiskError::none;
  }

  std::deque<Operation> queue_;
  std::map<ports::FileId, Open> open_;
  std::map<std::string, File> files_;
  std::uint64_t operations_ = 0;
  std::uint64_t appends_ = 0;
  std::uint64_t syncs_ = 0;
};

}  // namespace weir::storage
