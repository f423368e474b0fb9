#include "server/page_files.h"

namespace paternoster::server {

const PageFile* find_page_file(std::string_view path) {
  if (path == "/") path = "/index.html";
  for (const PageFile& file : page_files()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

}  // namespace paternoster::server
