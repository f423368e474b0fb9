// Any bytes as a trace: read or refused with a line's number, never a crash; and what was read makes a
// workload.
#include <sstream>

#include "base/check.h"
#include "workload/workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paternoster::workload;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  auto trace = read_trace(in, "fuzz");
  if (!trace) return 0;
  std::int64_t last = 0;
  for (const TraceRow& row : trace->rows) {
    PATERNOSTER_CHECK(row.at_ns >= last && row.input_tokens > 0 && row.output_tokens > 0);
    last = row.at_ns;
  }
  Description description;
  description.count = 2 * trace->rows.size();
  if (!trace->timed) description.arrivals.emplace();
  description.trace = std::make_shared<const Trace>(std::move(*trace));
  auto source = Source::create(description);
  PATERNOSTER_CHECK(source.has_value());
  std::vector<paternoster::TokenId> prompt;
  while (const Arrival* arrival = source->next()) {
    if (arrival->input_tokens < 5000) source->write_prompt(*arrival, prompt);
    source->take();
  }
  return 0;
}
