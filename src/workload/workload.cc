#include "workload/workload.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "workload/streams.h"

namespace paternoster::workload {
namespace {

constexpr std::uint32_t kDrawn = ~std::uint32_t{0};  // the row names no class, the description does

template <typename T>
std::uint32_t pick(const std::vector<T>& list, RandomStream& random) {
  if (list.size() < 2) return 0;
  const double total = std::accumulate(list.begin(), list.end(), 0.0,
                                       [](double sum, const T& one) { return sum + one.share; });
  double at = random.uniform() * total;
  for (std::uint32_t index = 0; index + 1 < list.size(); ++index) {
    at -= list[index].share;
    if (at < 0) return index;
  }
  return static_cast<std::uint32_t>(list.size() - 1);
}

template <typename T>
std::uint32_t index_of(std::vector<T>& list, const std::string& name) {
  const auto found = std::ranges::find(list, name, &T::name);
  if (found != list.end()) return static_cast<std::uint32_t>(found - list.begin());
  list.push_back({});
  list.back().name = name;
  return static_cast<std::uint32_t>(list.size() - 1);
}

// A token id that a text of this key has at this position: positive, and of no meaning.
TokenId token_of(std::uint64_t key, std::uint64_t position) {
  std::uint64_t word = (key + 0x9E3779B97F4A7C15u) ^ (position * 0xD6E8FEB86659FD93u);
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return static_cast<TokenId>((word ^ (word >> 31)) & 0x7FFFFFFFu);
}

std::unexpected<Error> bad_workload(std::string message) {
  return failure(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace

Result<Source> Source::create(Description description) {
  Source source(std::move(description));
  if (auto checked = source.check(); !checked) return std::unexpected(checked.error());
  const Description& of = source.description_;
  source.name_trace_classes();
  source.closed_ = of.arrivals && of.arrivals->kind == Arrivals::Kind::kClosed;
  if (source.closed_) {
    for (std::int32_t stream = 0; stream < of.arrivals->streams; ++stream) source.due_.push(0);
  } else if (of.arrivals) {
    source.times_ = arrival_times(*of.arrivals, of.rate, of.count, of.seed);
  }
  return source;
}

Source::Source(Description description)
    : description_(std::move(description)),
      classes_(description_.classes),
      tenants_(description_.tenants),
      inputs_(description_.seed, streams::kInputs),
      outputs_(description_.seed, streams::kOutputs),
      class_draws_(description_.seed, streams::kClasses),
      tenant_draws_(description_.seed, streams::kTenants),
      prefix_draws_(description_.seed, streams::kPrefixes),
      guesses_(description_.seed, streams::kGuesses) {}

Result<void> Source::check() const {
  const Description& of = description_;
  if (!of.trace && classes_.empty()) return bad_workload("a workload needs a trace or lengths of prompts and answers");
  if (!of.trace && !of.arrivals) return bad_workload("a workload without a trace needs an arrival process");
  if (of.trace && !of.trace->timed && !of.arrivals) {
    return bad_workload("the trace has lengths but no times: it needs an arrival process");
  }
  if (!(of.rate > 0 && of.rate <= 1e9)) return bad_workload("the rate must be above 0 requests a second");
  if (!(of.speed > 0 && of.speed <= 1e9)) return bad_workload("the speed must be above 0");
  for (const ClassOfWork& one : classes_) {
    if (!(one.share > 0)) return bad_workload("the share of class '" + one.name + "' must be above 0");
  }
  for (const Tenant& one : tenants_) {
    if (!(one.share > 0)) return bad_workload("the share of tenant '" + one.name + "' must be above 0");
  }
  if (of.prefix_count < 1) return bad_workload("there must be at least one shared prefix");
  return {};
}

void Source::name_trace_classes() {
  if (!description_.trace) {
    if (tenants_.empty()) tenants_.push_back({});
    return;
  }
  const bool own_tenants = tenants_.empty();
  for (const TraceRow& row : description_.trace->rows) {
    const bool drawn = row.class_name.empty() && !description_.classes.empty();
    row_classes_.push_back(drawn ? kDrawn : index_of(classes_, row.class_name));
    if (own_tenants) row_tenants_.push_back(index_of(tenants_, row.tenant));
  }
}

bool Source::shares_content() const {
  return description_.prefix_tokens > 0 || (description_.trace && description_.trace->block_tokens > 0);
}

const Arrival* Source::next() {
  if (drawn_) return &arrival_;
  if (next_number_ >= description_.count || (closed_ && due_.empty())) return nullptr;
  draw();
  drawn_ = true;
  return &arrival_;
}

void Source::take() {
  drawn_ = false;
  ++next_number_;
  if (closed_) due_.pop();
}

void Source::ended(std::int64_t now_ns) {
  if (!closed_) return;
  due_.push(now_ns + description_.arrivals->think_ns);
  // Whoever was drawn and not taken is the earliest still, or now somebody else's turn is.
  if (drawn_) arrival_.at_ns = due_.top();
}

std::int64_t Source::due_ns(std::uint64_t number) const {
  if (closed_) return due_.top();
  if (!times_.empty()) return times_[number];
  const auto& rows = description_.trace->rows;
  const std::uint64_t lap = number / rows.size();
  const auto size = static_cast<std::int64_t>(rows.size());
  // From the last request of a lap to the first of the next: the mean gap.
  const std::int64_t span = rows.back().at_ns + rows.back().at_ns / std::max<std::int64_t>(size - 1, 1);
  const double at = static_cast<double>(lap) * static_cast<double>(span) +
                    static_cast<double>(rows[number % rows.size()].at_ns);
  return std::llround(std::min(at / description_.speed, 9e18));
}

void Source::draw() {
  arrival_ = {};
  arrival_.number = next_number_;
  arrival_.at_ns = due_ns(next_number_);
  if (description_.trace) {
    read_from_trace();
  } else {
    draw_from_classes();
  }
  if (description_.prefix_tokens > 0) {
    arrival_.prefix =
        static_cast<std::uint32_t>(prefix_draws_.below(static_cast<std::uint64_t>(description_.prefix_count)));
  }
  const double error = description_.guess_sigma > 0 ? std::exp(description_.guess_sigma * guesses_.normal()) : 1;
  arrival_.guessed_tokens =
      static_cast<std::int32_t>(std::clamp(std::round(arrival_.output_tokens * error), 1.0, double{kMostTokens}));
}

void Source::draw_from_classes() {
  arrival_.class_index = pick(classes_, class_draws_);
  const ClassOfWork& of = classes_[arrival_.class_index];
  arrival_.input_tokens = std::max(of.input.draw(inputs_), description_.prefix_tokens + 1);
  arrival_.output_tokens = of.output.draw(outputs_);
  arrival_.tenant_index = pick(tenants_, tenant_draws_);
}

void Source::read_from_trace() {
  const auto& rows = description_.trace->rows;
  const std::size_t at = next_number_ % rows.size();
  arrival_.row = &rows[at];
  arrival_.lap = next_number_ / rows.size();
  arrival_.input_tokens = rows[at].input_tokens;
  arrival_.output_tokens = rows[at].output_tokens;
  arrival_.class_index = row_classes_[at] == kDrawn ? pick(description_.classes, class_draws_) : row_classes_[at];
  arrival_.tenant_index = row_tenants_.empty() ? pick(tenants_, tenant_draws_) : row_tenants_[at];
}

void Source::write_prompt(const Arrival& arrival, std::vector<TokenId>& tokens) const {
  const auto size = static_cast<std::size_t>(arrival.input_tokens);
  tokens.resize(size);
  std::size_t at = 0;
  const std::uint64_t seed = description_.seed;
  const auto prefix = std::min(size, static_cast<std::size_t>(description_.prefix_tokens));
  const std::uint64_t shared = random_u64(seed, streams::kTokens, arrival.prefix);
  for (; at < prefix; ++at) tokens[at] = token_of(shared, at);
  const std::int32_t block_tokens = description_.trace ? description_.trace->block_tokens : 0;
  if (arrival.row != nullptr && block_tokens > 0) {
    const auto block_size = static_cast<std::size_t>(block_tokens);
    const auto& blocks = arrival.row->blocks;
    while (at < size && at / block_size < blocks.size()) {
      const std::uint64_t key = random_u64(blocks[at / block_size], streams::kTokens + 1, arrival.lap);
      const std::size_t end = std::min(size, (at / block_size + 1) * block_size);
      for (; at < end; ++at) tokens[at] = token_of(key, at);
    }
  }
  const std::uint64_t own = random_u64(seed, streams::kTokens + 2, arrival.number);
  for (; at < size; ++at) tokens[at] = token_of(own, at);
}

}  // namespace paternoster::workload
