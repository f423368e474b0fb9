// web/report as text, built into the program (layer.cmake). Internal to report/.
#pragma once

#include <string_view>

namespace paternoster::report {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace paternoster::report
