#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

// A thin layer over SQLite. Errors are exceptions, which RunDatabase turns into sentences.
namespace weir::run_database {

class SqlError : public std::runtime_error {
 public:
  SqlError(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

class Sql {
 public:
  explicit Sql(const std::string& path);
  ~Sql();
  Sql(const Sql&) = delete;
  Sql& operator=(const Sql&) = delete;

  void run(const char* statements) const;
  [[nodiscard]] sqlite3* get() const { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

// A prepared statement. Parameters and columns are numbered from 1 and 0, as in SQLite.
class Statement {
 public:
  Statement(const Sql& sql, std::string_view text);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, std::string_view value);
  // True: there is a row.
  [[nodiscard]] bool step();
  // Carries out a statement without rows, and resets it.
  void run();
  void reset() { sqlite3_reset(statement_); }
  [[nodiscard]] std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::string text(int column) const;

 private:
  const Sql& sql_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace weir::run_database
