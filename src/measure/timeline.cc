#include "measure/timeline.h"

#include <algorithm>

namespace paternoster::measure {
namespace {

void add_weighted(Timeline::Moment& to, const Timeline::Moment& from, double weight) {
  to.running += from.running * weight;
  to.waiting += from.waiting * weight;
  to.kv_used += from.kv_used * weight;
}

void add_counts(Timeline::Moment& to, const Timeline::Moment& from, double share) {
  to.output_tokens += from.output_tokens * share;
  to.input_tokens += from.input_tokens * share;
  to.preemptions += from.preemptions * share;
}

}  // namespace

Timeline::Sum& Timeline::at(std::int64_t time_ns) {
  while (time_ns / width_ns_ >= static_cast<std::int64_t>(kPoints)) {
    for (std::size_t pair = 0; 2 * pair < sums_.size(); ++pair) {
      Sum joined = sums_[2 * pair];
      if (2 * pair + 1 < sums_.size()) {
        const Sum& second = sums_[2 * pair + 1];
        joined.ns += second.ns;
        add_weighted(joined.moment, second.moment, 1);
        add_counts(joined.moment, second.moment, 1);
      }
      sums_[pair] = joined;
    }
    sums_.resize((sums_.size() + 1) / 2);
    width_ns_ *= 2;
  }
  const auto index = static_cast<std::size_t>(time_ns / width_ns_);
  if (index >= sums_.size()) sums_.resize(index + 1);
  return sums_[index];
}

void Timeline::add(std::int64_t begin_ns, std::int64_t end_ns, const Moment& moment) {
  begin_ns = std::max<std::int64_t>(begin_ns, 0);
  if (end_ns <= begin_ns) {
    add_counts(at(begin_ns).moment, moment, 1);
    return;
  }
  at(end_ns);  // so that the width holds while we go
  const auto whole = static_cast<double>(end_ns - begin_ns);
  for (std::int64_t from = begin_ns; from < end_ns;) {
    const std::int64_t to = std::min(end_ns, (from / width_ns_ + 1) * width_ns_);
    const auto ns = static_cast<double>(to - from);
    Sum& sum = at(from);
    sum.ns += ns;
    add_weighted(sum.moment, moment, ns);
    add_counts(sum.moment, moment, ns / whole);
    from = to;
  }
}

std::vector<Timeline::Point> Timeline::points() const {
  std::vector<Point> points;
  for (std::size_t index = 0; index < sums_.size(); ++index) {
    const Sum& sum = sums_[index];
    Point& point = points.emplace_back();
    point.begin_ns = static_cast<std::int64_t>(index) * width_ns_;
    point.seconds = sum.ns / 1e9;
    point.moment = sum.moment;
    const double ns = std::max(sum.ns, 1.0);
    point.moment.running /= ns;
    point.moment.waiting /= ns;
    point.moment.kv_used /= ns;
  }
  return points;
}

}  // namespace paternoster::measure
