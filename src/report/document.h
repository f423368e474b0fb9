// A report as data: paragraphs, tables and plots, in order. to_html makes one file of it that opens
// offline in any browser: style and script are inside, nothing is fetched. Simulator, load generator,
// comparison and advice all make their reports of these parts, so that they look alike and real and
// simulated runs lie in one plot. Plain values; what they mean is their maker's business.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace paternoster::report {

using Point = std::pair<double, double>;

enum class LineStyle : unsigned char {
  kLine,
  kDashed,  // the same as its namesake, from elsewhere: a simulated run beside a real one
  kStep,    // a value holds until the next point
  kDots,
};

// Lines of one name have one colour in all plots of a document.
struct Line {
  std::string name;
  std::vector<Point> points;  // ascending in x, but for kDots
  LineStyle style = LineStyle::kLine;
};

// A limit or an event, drawn across the plot.
struct Mark {
  double at = 0;
  std::string label;
  bool vertical = true;  // at an x
};

struct Plot {
  std::string title;
  std::string x_label;  // with its unit: "time to first token, ms"
  std::string y_label;
  bool x_log = false;
  bool y_log = false;
  std::vector<Line> lines;
  std::vector<Mark> marks;
};

// Who waited, read and wrote when: one row a request.
enum class SpanKind : unsigned char { kWaiting, kPrefill, kDecode, kFailed };
struct Span {
  double begin = 0;
  double end = 0;
  SpanKind kind = SpanKind::kWaiting;
};
struct TimelineRow {
  std::string label;
  std::vector<Span> spans;
};
struct Timeline {
  std::string title;
  std::string x_label;
  std::vector<TimelineRow> rows;
};

struct Table {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;  // numbers are set flush right
};

struct Text {
  std::string text;
  enum class Kind : unsigned char { kPlain, kHeading, kVerdict, kWarning, kCode } kind = Kind::kPlain;
};

using Part = std::variant<Text, Table, Plot, Timeline>;

struct Document {
  std::string title;
  std::string subtitle;  // what made it, when, of what
  std::vector<Part> parts;
};

std::string to_html(const Document& document);

}  // namespace paternoster::report
