// The web page's files, built into the program (web/, through layer.cmake).
#pragma once

#include <span>
#include <string_view>

namespace paternoster::server {

struct PageFile {
  std::string_view path;  // "/app.js"
  std::string_view content_type;
  std::string_view bytes;
  std::string_view etag;  // with its quotes
};

std::span<const PageFile> page_files();

// The file at `path`; `/` is /index.html. Null if there is none.
const PageFile* find_page_file(std::string_view path);

}  // namespace paternoster::server
