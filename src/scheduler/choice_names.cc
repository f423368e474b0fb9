#include "scheduler/choice_names.h"

#include <limits>

#include "scheduler/presets.h"

namespace paternoster::scheduler {
namespace {

// Calls visit(choice, name) for each value there is, until it says true. Enumerators count from 0, and
// to_string says "?" behind the last.
template <typename Choice, typename Visit>
bool find_choice(Visit visit) {
  for (int value = 0; value <= std::numeric_limits<std::uint8_t>::max(); ++value) {
    const auto choice = static_cast<Choice>(value);
    const std::string_view name = to_string(choice);
    if (name == "?") return false;
    if (visit(choice, name)) return true;
  }
  return false;
}

template <typename Choice>
std::string all_names() {
  std::string names;
  find_choice<Choice>([&](Choice, std::string_view name) {
    if (!names.empty()) names += ", ";
    names += name;
    return false;
  });
  return names;
}

template <typename Choice>
Result<void> read(const char* point, const std::optional<std::string>& wanted, Choice& choice) {
  const auto take = [&](Choice value, std::string_view name) {
    if (name == *wanted) choice = value;
    return name == *wanted;
  };
  if (!wanted || find_choice<Choice>(take)) return {};
  return failure(ErrorCode::kInvalidArgument,
                 "no " + std::string(point) + " '" + *wanted + "'; there are " + all_names<Choice>());
}

}  // namespace

std::string boarding_names() { return all_names<Boarding>(); }
std::string order_names() { return all_names<Order>(); }
std::string prefill_names() { return all_names<Prefill>(); }
std::string relief_names() { return all_names<Relief>(); }
std::string victim_names() { return all_names<Victim>(); }
std::string speculation_names() { return all_names<Speculation>(); }

Result<Choices> choose(std::string_view preset, const ChoiceNames& names) {
  auto choices = choices_of(preset);
  if (!choices) return choices;
  Result<void> done = read("boarding", names.boarding, choices->boarding);
  if (done) done = read("order", names.order, choices->order);
  if (done) done = read("prefill", names.prefill, choices->prefill);
  if (done) done = read("relief", names.relief, choices->relief);
  if (done) done = read("victim", names.victim, choices->victim);
  if (done) done = read("speculation", names.speculation, choices->speculation);
  if (!done) return std::unexpected(done.error());
  return choices;
}

}  // namespace paternoster::scheduler
