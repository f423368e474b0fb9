// Gaps between tokens on their way to the summary: most streams of a step waited equally long, so equal
// gaps in a row are counted before they are told. One table for each class and tenant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/summary.h"

namespace paternoster::simulator {

class GapTables {
 public:
  void name(std::uint32_t kind, std::string class_name, std::string tenant) {
    if (kind >= rows_.size()) rows_.resize(kind + 1);
    rows_[kind].class_name = std::move(class_name);
    rows_[kind].tenant = std::move(tenant);
  }
  void add(std::uint32_t kind, std::int64_t gap_ns, measure::Summarizer& summarizer) {
    Row& row = rows_[kind];
    if (row.times > 0 && row.gap_ns != gap_ns) tell(row, summarizer);
    row.gap_ns = gap_ns;
    ++row.times;
  }
  void flush(measure::Summarizer& summarizer) {
    for (Row& row : rows_) tell(row, summarizer);
  }

 private:
  struct Row {
    std::int64_t gap_ns = 0;
    std::uint64_t times = 0;
    std::string class_name;
    std::string tenant;
  };
  static void tell(Row& row, measure::Summarizer& summarizer) {
    summarizer.add_gap(static_cast<double>(row.gap_ns), row.times, row.class_name, row.tenant);
    row.times = 0;
  }

  std::vector<Row> rows_;
};

}  // namespace paternoster::simulator
