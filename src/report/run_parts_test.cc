#include "report/run_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paternoster::report {
namespace {

using testing::Contains;
using testing::ElementsAre;

measure::RequestRecord record(std::uint64_t id, std::int64_t at_ms, const char* of_class) {
  measure::RequestRecord one;
  one.id = id;
  one.class_name = of_class;
  one.scheduled_ns = at_ms * 1'000'000;
  one.sent_ns = one.scheduled_ns;
  one.admitted_ns = one.scheduled_ns + 10'000'000;
  one.first_token_ns = one.scheduled_ns + 100'000'000;
  one.last_token_ns = one.ended_ns = one.scheduled_ns + 200'000'000;
  one.output_tokens = 11;
  one.arrivals = {{one.first_token_ns, 1}, {one.last_token_ns, 10}};
  return one;
}

std::vector<measure::RequestRecord> three() {
  auto records = std::vector{record(0, 0, "chat"), record(1, 50, "batch"), record(2, 1000, "chat")};
  records[1].status = measure::Status::kFailed;
  records[1].first_token_ns = -1;
  return records;
}

measure::Summary summary_of(const std::vector<measure::RequestRecord>& records) {
  measure::Summarizer summarizer(*measure::parse_objectives("ttft=90ms"));
  for (const auto& one : records) summarizer.add(one);
  return summarizer.finish(2e9);
}

TEST(RunParts, FiguresStandSideBySide) {
  const measure::Summary summary = summary_of(three());
  const NamedSummary runs[] = {{"a", &summary, false}, {"a", &summary, true}};
  const Table table = figures_table(runs);
  EXPECT_THAT(table.head, ElementsAre("", "a", "a (simulated)"));
  EXPECT_THAT(table.rows, Contains(ElementsAre("failed", "1", "1")));
  EXPECT_THAT(table.rows, Contains(ElementsAre("TTFT median, ms", "100.0", "100.0")));
  EXPECT_THAT(table.rows, Contains(ElementsAre("TPOT median, ms", "10.00", "10.00")));
  EXPECT_THAT(table.rows, Contains(ElementsAre("within the SLO", "0.00 %", "0.00 %")));
}

TEST(RunParts, ARealAndASimulatedRunShareAPlotAndAColour) {
  const measure::Summary summary = summary_of({record(0, 0, ""), record(1, 10, "")});
  const NamedSummary runs[] = {{"a", &summary, false}, {"a", &summary, true}};
  const std::vector<Plot> plots = latency_plots(runs);
  ASSERT_EQ(plots.size(), 4u);
  ASSERT_EQ(plots[0].lines.size(), 2u);
  EXPECT_EQ(plots[0].lines[0].name, plots[0].lines[1].name);
  EXPECT_EQ(plots[0].lines[1].style, LineStyle::kDashed);
  ASSERT_EQ(plots[0].marks.size(), 1u);
  EXPECT_DOUBLE_EQ(plots[0].marks[0].at, 90);
}

TEST(RunParts, ClassesHaveLinesOfTheirOwn) {
  const measure::Summary summary = summary_of(three());
  const NamedSummary runs[] = {{"a", &summary, false}};
  const std::vector<Plot> plots = latency_plots(runs);
  ASSERT_FALSE(plots.empty());
  EXPECT_EQ(plots[0].lines.size(), 1u);  // nobody of batch completed
  EXPECT_EQ(plots[0].lines[0].name, "chat");
  EXPECT_EQ(parts_tables(runs[0]).front().rows.size(), 2u);
}

TEST(RunParts, LevelsRiseAndFall) {
  const auto records = three();
  const std::vector<Plot> plots = load_plots(records);
  ASSERT_EQ(plots.size(), 2u);
  double most = 0;
  for (const Point& point : plots[0].lines[0].points) most = std::max(most, point.second);
  EXPECT_EQ(most, 2);
  EXPECT_EQ(plots[0].lines[0].points.back().second, 0);
  EXPECT_TRUE(load_plots({}).empty());
}

TEST(RunParts, ATimelineTellsWaitingReadingAndWriting) {
  const auto records = three();
  const Timeline timeline = request_timeline(records, 2);
  ASSERT_EQ(timeline.rows.size(), 2u);
  ASSERT_EQ(timeline.rows[0].spans.size(), 3u);
  EXPECT_EQ(timeline.rows[0].spans[0].kind, SpanKind::kWaiting);
  EXPECT_DOUBLE_EQ(timeline.rows[0].spans[2].begin, 0.1);
  EXPECT_EQ(timeline.rows[1].spans[0].kind, SpanKind::kFailed);
  EXPECT_EQ(timeline.rows[1].label, "request 1, batch: failed");
}

}  // namespace
}  // namespace paternoster::report
