#include "measure/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"

namespace paternoster::measure {
namespace {

void add_relaxed(std::atomic<double>& target, double change) {
  double old = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(old, old + change, std::memory_order_relaxed)) {
  }
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

std::string label_text(const Labels& common, const Labels& labels) {
  std::string out;
  for (const Labels* list : {&common, &labels}) {
    for (const auto& [name, value] : *list) {
      out += out.empty() ? "{" : ",";
      out += name;
      out += "=\"";
      append_escaped(out, value, true);
      out += '"';
    }
  }
  if (!out.empty()) out += '}';
  return out;
}

void append_double(std::string& out, double value) {
  if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void append_count(std::string& out, std::uint64_t value) {
  char buffer[24];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void append_bucket(std::string& out, const std::string& name, const std::string& labels, double bound,
                   std::uint64_t count) {
  out += name;
  out += "_bucket";
  if (labels.empty()) {
    out += '{';
  } else {
    out.append(labels, 0, labels.size() - 1);
    out += ',';
  }
  out += "le=\"";
  append_double(out, bound);
  out += "\"} ";
  append_count(out, count);
  out += '\n';
}

void append_histogram(std::string& out, const std::string& name, const std::string& labels,
                      const Histogram& histogram) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < histogram.bounds().size(); ++i) {
    total += histogram.count_in(i);
    append_bucket(out, name, labels, histogram.bounds()[i], total);
  }
  total += histogram.count_in(histogram.bounds().size());
  append_bucket(out, name, labels, INFINITY, total);
  out += name + "_sum" + labels + ' ';
  append_double(out, histogram.sum());
  out += '\n' + name + "_count" + labels + ' ';
  append_count(out, total);
  out += '\n';
}

}  // namespace

void Gauge::add(double change) { add_relaxed(value_, change); }

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {
  PATERNOSTER_CHECK(std::ranges::is_sorted(bounds_));
}

void Histogram::observe(double value, std::uint64_t times) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(times, std::memory_order_relaxed);
  add_relaxed(sum_, value * static_cast<double>(times));
}

std::uint64_t Histogram::count() const {
  std::uint64_t total = 0;
  for (const auto& count : counts_) total += count.load(std::memory_order_relaxed);
  return total;
}

Registry::Registry(Labels common, Labels alias_common)
    : common_(std::move(common)), alias_common_(std::move(alias_common)) {}

void Registry::place(Kind kind, std::string_view name, std::string_view help, const Labels& common,
                     const Labels& labels, const void* value) {
  if (name.empty()) return;
  const std::lock_guard lock(families_mutex_);
  auto family = std::ranges::find(families_, name, &Family::name);
  if (family == families_.end()) {
    families_.push_back({std::string(name), std::string(help), kind, {}});
    family = families_.end() - 1;
  }
  PATERNOSTER_CHECK(family->kind == kind);
  family->cells.push_back({label_text(common, labels), value});
}

void Registry::place_both(Kind kind, std::string_view name, std::string_view help,
                          const Labels& labels, std::string_view alias, const Labels& alias_labels,
                          const void* value) {
  place(kind, name, help, common_, labels, value);
  place(kind, alias, help, alias_common_, alias_labels, value);
}

Counter& Registry::counter(std::string_view name, std::string_view help, Labels labels,
                           std::string_view alias, Labels alias_labels) {
  Counter& cell = counters_.emplace_back();
  place_both(Kind::kCounter, name, help, labels, alias, alias_labels, &cell);
  return cell;
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, Labels labels,
                       std::string_view alias, Labels alias_labels) {
  Gauge& cell = gauges_.emplace_back();
  place_both(Kind::kGauge, name, help, labels, alias, alias_labels, &cell);
  return cell;
}

Histogram& Registry::histogram(std::string_view name, std::string_view help,
                               std::span<const double> bounds, Labels labels,
                               std::string_view alias, Labels alias_labels) {
  Histogram& cell = histograms_.emplace_back(bounds);
  place_both(Kind::kHistogram, name, help, labels, alias, alias_labels, &cell);
  return cell;
}

std::string Registry::render() const {
  std::string out;
  out.reserve(65536);
  const std::lock_guard lock(families_mutex_);
  for (const Family& family : families_) {
    out += "# HELP " + family.name + ' ';
    append_escaped(out, family.help, false);
    out += "\n# TYPE " + family.name;
    out += family.kind == Kind::kCounter ? " counter\n" : family.kind == Kind::kGauge ? " gauge\n"
                                                                                      : " histogram\n";
    for (const Cell& cell : family.cells) {
      if (family.kind == Kind::kHistogram) {
        append_histogram(out, family.name, cell.labels, *static_cast<const Histogram*>(cell.value));
        continue;
      }
      out += family.name + cell.labels + ' ';
      if (family.kind == Kind::kCounter) {
        append_count(out, static_cast<const Counter*>(cell.value)->value());
      } else {
        append_double(out, static_cast<const Gauge*>(cell.value)->value());
      }
      out += '\n';
    }
  }
  return out;
}

}  // namespace paternoster::measure
