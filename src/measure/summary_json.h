// Summaries and records as JSON: a summary under the flat keys of `vllm bench serve --save-result`
// (duration, completed, mean_ttft_ms, p99_itl_ms, ...), with ours beside them; a record as one line.
#pragma once

#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "base/result.h"
#include "measure/request_record.h"
#include "measure/summary.h"

namespace paternoster::measure {

// Writes the keys into an object that the caller has begun and ends.
void append_summary(JsonObject& object, const Summary& summary);
// The same keys for one class or tenant.
void append_figures(JsonObject& object, const Figures& figures, double duration_s);

// One JSON object without a line end; times in nanoseconds, `arrivals` as [at_ns, tokens] pairs.
void append_record(std::string& out, const RequestRecord& record);
// The reverse. The error says what is wrong with the line.
Result<RequestRecord> parse_record(std::string_view line);

}  // namespace paternoster::measure
