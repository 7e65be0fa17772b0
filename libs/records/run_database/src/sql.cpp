#include "sql.hpp"

namespace weir::run_database {
namespace {

constexpr int kBusyMs = 2000;  // while another process writes

void check(sqlite3* db, int code) {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
    throw SqlError(code, db == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db));
}

}  // namespace

Sql::Sql(const std::string& path) {
  const int code = sqlite3_open(path.c_str(), &db_);
  if (code != SQLITE_OK) {
    const std::string what = db_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db_);
    sqlite3_close(db_);
    throw SqlError(code, what);
  }
  sqlite3_busy_timeout(db_, kBusyMs);
}

Sql::~Sql() { sqlite3_close(db_); }

void Sql::run(const char* statements) const {
  check(db_, sqlite3_exec(db_, statements, nullptr, nullptr, nullptr));
}

Statement::Statement(const Sql& sql, std::string_view text) : sql_(sql) {
  check(sql_.get(),
        sqlite3_prepare_v2(sql_.get(), text.data(), static_cast<int>(text.size()), &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(int parameter, std::int64_t value) {
  check(sql_.get(), sqlite3_bind_int64(statement_, parameter, value));
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view value) {
  check(sql_.get(), sqlite3_bind_text(statement_, parameter, value.data(), static_cast<int>(value.size()),
                                      SQLITE_TRANSIENT));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  check(sql_.get(), code);
  return code == SQLITE_ROW;
}

void Statement::run() {
  (void)step();
  reset();
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes == nullptr
             ? std::string()
             : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

}  // namespace weir::run_database
