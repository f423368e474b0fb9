#include "report/document.h"

#include "base/json_writer.h"
#include "report/page.h"

namespace paternoster::report {
namespace {

constexpr const char* kStyles[] = {"line", "dashed", "step", "dots"};
constexpr const char* kKinds[] = {"plain", "heading", "verdict", "warning", "code"};

// A list of what `append` writes of each.
template <typename Values, typename Append>
void append_list(std::string& out, const Values& values, Append append) {
  out += '[';
  bool first = true;
  for (const auto& value : values) {
    if (!first) out += ',';
    first = false;
    append(value);
  }
  out += ']';
}

void append_strings(std::string& out, const std::vector<std::string>& strings) {
  append_list(out, strings, [&](const std::string& text) { append_string(out, text); });
}

void append_part(JsonObject& object, const Text& text) {
  object.field("is", "text").field("kind", kKinds[static_cast<int>(text.kind)]).field("text", text.text);
}

void append_part(JsonObject& object, const Table& table) {
  object.field("is", "table").field("title", table.title);
  std::string& out = object.key("head");
  append_strings(out, table.head);
  object.key("rows");
  append_list(out, table.rows, [&](const auto& row) { append_strings(out, row); });
}

void append_part(JsonObject& object, const Plot& plot) {
  object.field("is", "plot").field("title", plot.title).field("x", plot.x_label).field("y", plot.y_label);
  object.field("xlog", plot.x_log).field("ylog", plot.y_log);
  std::string& out = object.key("lines");
  append_list(out, plot.lines, [&](const Line& line) {
    JsonObject inner(out);
    inner.field("name", line.name).field("style", kStyles[static_cast<int>(line.style)]).key("points");
    append_list(out, line.points, [&](const Point& point) {
      out += '[';
      append_number(out, static_cast<float>(point.first));  // a pixel needs no more digits
      out += ',';
      append_number(out, static_cast<float>(point.second));
      out += ']';
    });
    inner.end();
  });
  object.key("marks");
  append_list(out, plot.marks, [&](const Mark& mark) {
    JsonObject(out).field("at", mark.at).field("label", mark.label).field("vertical", mark.vertical).end();
  });
}

void append_part(JsonObject& object, const Timeline& timeline) {
  object.field("is", "timeline").field("title", timeline.title).field("x", timeline.x_label);
  std::string& out = object.key("rows");
  append_list(out, timeline.rows, [&](const TimelineRow& row) {
    JsonObject inner(out);
    inner.field("label", row.label).key("spans");
    append_list(out, row.spans, [&](const Span& span) {
      out += '[';
      append_number(out, static_cast<float>(span.begin));
      out += ',';
      append_number(out, static_cast<float>(span.end));
      out += ',';
      append_integer(out, static_cast<int>(span.kind));
      out += ']';
    });
    inner.end();
  });
}

// Inside a script element nothing may look like its end.
std::string embedded(const std::string& json) {
  std::string out;
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

void replace(std::string& text, std::string_view mark, std::string_view with) {
  const std::size_t at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), with);
}

}  // namespace

std::string to_html(const Document& document) {
  std::string json;
  JsonObject object(json);
  object.field("title", document.title).field("subtitle", document.subtitle).key("parts");
  append_list(json, document.parts, [&](const Part& part) {
    JsonObject inner(json);
    std::visit([&](const auto& value) { append_part(inner, value); }, part);
    inner.end();
  });
  object.end();
  std::string html(kPageHtml);
  replace(html, "/* report.css */", kPageCss);
  replace(html, "/* report.js */", kPageJs);
  replace(html, "\"report.json\"", embedded(json));
  return html;
}

}  // namespace paternoster::report
