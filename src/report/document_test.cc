#include "report/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paternoster::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Document everything() {
  Document document{"A & B", "made by a test", {}};
  document.parts.push_back(Text{"</script><script>alert(1)</script>", Text::Kind::kWarning});
  document.parts.push_back(Table{"t", {"name", "ms"}, {{"a", "1.5"}, {"b", "20"}}});
  Plot plot{"p", "x, ms", "share", true, false, {{"real", {{1, 0.1}, {10, 1}}, LineStyle::kLine}}, {{5, "SLO", true}}};
  document.parts.push_back(plot);
  document.parts.push_back(Timeline{"w", "s", {{"1", {{0, 1, SpanKind::kDecode}}}}});
  return document;
}

TEST(Report, IsOneFileThatFetchesNothing) {
  const std::string html = to_html(everything());
  EXPECT_THAT(html, HasSubstr("<!doctype html>"));
  EXPECT_THAT(html, HasSubstr("function plotFigure"));
  EXPECT_THAT(html, HasSubstr("--paper"));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("href=")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
}

TEST(Report, TextStaysText) {
  const std::string html = to_html(everything());
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, HasSubstr("\\u003c/script>"));
}

TEST(Report, HoldsItsDataAsJson) {
  const std::string html = to_html(everything());
  EXPECT_THAT(html, HasSubstr(R"({"is":"table","title":"t","head":["name","ms"],"rows":[["a","1.5"],["b","20"]]})"));
  EXPECT_THAT(html, HasSubstr(R"("lines":[{"name":"real","style":"line","points":[[1.0,0.1],[10.0,1.0]]}])"));
  EXPECT_THAT(html, HasSubstr(R"("rows":[{"label":"1","spans":[[0.0,1.0,2]]}])"));
}

}  // namespace
}  // namespace paternoster::report
