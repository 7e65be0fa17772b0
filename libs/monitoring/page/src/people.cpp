#include <weir/base/text.hpp>
#include <weir/page/people.hpp>

#include <algorithm>
#include <array>
#include <sstream>

namespace weir::page {
namespace {

constexpr std::array<std::string_view, 3> kRoles = {"observer", "shift", "expert"};
constexpr std::size_t kNameMax = 64;

}  // namespace

std::string_view name(PersonRole role) { return kRoles[static_cast<std::size_t>(role)]; }

Expected<std::vector<Person>, std::string> read_people(const std::string& text) {
  std::vector<Person> people;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string role;
    Person person;
    std::string more;
    if (!(words >> role) || role.front() == '#') continue;
    const auto refuse = [&](const std::string& why) {
      return Unexpected<std::string>("line " + std::to_string(number) + ": " + why);
    };
    const auto known = std::ranges::find(kRoles, role);
    if (known == kRoles.end()) return refuse("the first word is one of observer, shift, expert");
    person.role = static_cast<PersonRole>(known - kRoles.begin());
    if (!(words >> person.name >> person.token) || words >> more)
      return refuse("a line has three words: role, name and token");
    if (person.name.size() > kNameMax || clean_text(person.name, kNameMax) != person.name)
      return refuse("the name has more than 64 bytes, or control characters");
    if (person.token.size() < kTokenBytesMin)
      return refuse(
          "a token of less than 16 characters can be guessed: make one with `openssl rand -hex 16`");
    const auto alike = [&](const Person& one) {
      return one.name == person.name || one.token == person.token;
    };
    if (std::ranges::any_of(people, alike)) return refuse("this name or token is there already");
    people.push_back(std::move(person));
    if (people.size() > kPeopleMax) return refuse("more than 64 people");
  }
  return people;
}

}  // namespace weir::page
